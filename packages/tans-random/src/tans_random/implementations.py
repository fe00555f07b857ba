"""The generators that keys can have, and what each of them does with a key's words."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from tans_random import philox, rbg, threefry, threefry4x32
from tans_random.counters import CounterGenerator

type Words = Any  # uint32 [..., num_words]
type Shape = tuple[int, ...]


class Implementation(NamedTuple):
    """A generator.

    Attributes:
      name: name that `key` takes.
      tag: short name in the printed dtype.
      key_shape: shape of a key's words.
      seed: (seed words uint32 [2]) to key words.
      split: (key words, shape) to words [*shape, *key_shape].
      fold_in: (key words, uint32 scalar) to key words.
      bits: (key words, bit width, shape) to unsigned integers of that width.
    """

    name: str
    tag: str
    key_shape: Shape
    seed: Callable[[Words], Words]
    split: Callable[[Words, Shape], Words]
    fold_in: Callable[[Words, Any], Words]
    bits: Callable[[Words, int, Shape], Any]

    @property
    def is_counter(self) -> bool:
        """Whether each key gives its own numbers, however many are mapped over."""
        return self.bits is not rbg.bits

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Implementation) and self.name == other.name

    def __reduce__(self) -> Any:
        return find_implementation, (self.name,)

    def __repr__(self) -> str:
        return f"PRNGImpl({self.name})"


def _of_counters(generator: CounterGenerator, name: str, tag: str) -> Implementation:
    return Implementation(
        name, tag, (generator.key_words,), generator.seed, generator.split, generator.fold_in,
        generator.bits,
    )  # fmt: skip


_ALL: Final = {
    impl.name: impl
    for impl in (
        Implementation(
            "threefry2x32", "fry", (2,), threefry.seed, threefry.split, threefry.fold_in,
            threefry.bits,
        ),
        Implementation("rbg", "rbg", (4,), rbg.seed, rbg.split, rbg.fold_in, rbg.bits),
        Implementation(
            "unsafe_rbg", "urbg", (4,), rbg.seed, rbg.split_unsafe, rbg.fold_in_unsafe, rbg.bits
        ),
        _of_counters(philox.PHILOX_2X32, "philox2x32", "phx2"),
        _of_counters(philox.PHILOX_4X32, "philox4x32", "phx4"),
        _of_counters(threefry4x32.THREEFRY_4X32, "threefry4x32", "fry4"),
    )
}  # fmt: skip


IMPLEMENTATIONS: Final = tuple(_ALL.values())


def find_implementation(name: Any) -> Implementation:
    """Return the generator called `name`.

    Raises:
      TypeError: neither a name nor an implementation.
      ValueError: unknown name.
    """
    if isinstance(name, Implementation):
        return name
    name = getattr(name, "name", name)
    if not isinstance(name, str):
        raise TypeError(
            f"random: given the implementation {name!r} of type {type(name).__name__}, expected a "
            f"name: one of {', '.join(_ALL)}."
        )
    found = _ALL.get(name)
    if found is None:
        raise ValueError(
            f"random: given the implementation {name!r}, expected one of {', '.join(_ALL)}."
        )
    return found
