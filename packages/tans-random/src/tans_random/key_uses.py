"""Which keys were used, and by what: what the check of key reuse knows of an array of keys."""

from typing import Any, NamedTuple

import numpy as np

from tans_core.errors import KeyReuseError


class KeyUses(NamedTuple):
    """The function that used each key, None for unused ones.

    Arrays that hold the same keys, as after slicing or reshaping, share the memory of `users`.

    Attributes:
      users: names, object array of the shape of the keys.
    """

    users: np.ndarray

    @classmethod
    def none(cls, shape: tuple[int, ...]) -> "KeyUses":
        """Return the uses of new keys."""
        return cls(np.full(shape, None, dtype=object))

    def at(self, index: Any) -> "KeyUses":
        """Return the uses of the keys at a position of the first dimension."""
        size = self.users.shape[0]
        first = min(max(index + size if index < 0 else index, 0), size - 1)
        return KeyUses(self.users[(first, ...)])

    def user(self) -> str | None:
        """Return a function that used one of the keys, or None."""
        return next((name for name in self.users.flat if name is not None), None)

    def note(self, name: str, place: str = "") -> None:
        """Note that the function `name` uses all keys.

        Raises:
          KeyReuseError: one of them was used before.
        """
        before = self.user()
        if before is not None:
            where = f" at {place}" if place else ""
            raise KeyReuseError(
                f"{name}: given a key{where} that {before} used before; expected an unused one, "
                "because the flag debug_key_reuse is on. Split it first, key, sub = "
                "random.split(key), or give random.clone(key) to repeat numbers on purpose."
            )
        self.users[...] = name
