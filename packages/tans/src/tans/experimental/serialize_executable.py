"""Compiled programs as bytes."""

from tans_compiler.serialize_executable import deserialize_and_load, serialize

__all__ = ["deserialize_and_load", "serialize"]
