"""Samplers, by distribution family; `tans_random` loads them when they are first used."""
