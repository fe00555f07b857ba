"""Windows for spectra, by the names of SciPy, in double precision on the host."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np


def _cosines(*weights: float) -> Callable[[int], np.ndarray]:
    def window(n: int) -> np.ndarray:
        angle = 2 * np.pi * np.arange(n) / (n - 1)
        return sum((-1) ** k * w * np.cos(k * angle) for k, w in enumerate(weights))  # pyright: ignore

    return window


def _tukey(n: int, alpha: float = 0.5) -> np.ndarray:
    if alpha <= 0:
        return np.ones(n)
    place = np.arange(n) / (n - 1)
    ramp = np.minimum(1, 2 * np.minimum(place, 1 - place) / min(alpha, 1))
    return 0.5 * (1 - np.cos(np.pi * ramp))


def _gaussian(n: int, std: float) -> np.ndarray:
    place = np.arange(n) - (n - 1) / 2
    return np.exp(-(place**2) / (2 * std * std))


_WINDOWS: Final[dict[str, Callable[..., np.ndarray]]] = {
    "boxcar": np.ones,
    "hann": _cosines(0.5, 0.5),
    "hamming": _cosines(0.54, 0.46),
    "blackman": _cosines(0.42, 0.5, 0.08),
    "blackmanharris": _cosines(0.35875, 0.48829, 0.14128, 0.01168),
    "nuttall": _cosines(0.3635819, 0.4891775, 0.1365995, 0.0106411),
    "flattop": _cosines(0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368),
    "bartlett": np.bartlett,
    "cosine": lambda n: np.sin(np.pi / n * (np.arange(n) + 0.5)),
    "kaiser": np.kaiser,
    "gaussian": _gaussian,
    "tukey": _tukey,
}


def get_window(window: Any, n: int) -> np.ndarray:
    """Return a periodic window of `n` values.

    Args:
      window: name, or tuple of a name and its parameters.
      n: size.

    Raises:
      ValueError: unknown name.
    """
    name, *parameters = window if isinstance(window, tuple) else (window,)
    if name not in _WINDOWS:
        raise ValueError(
            f"window: given {window!r}, expected one of {', '.join(_WINDOWS)}, or its values."
        )
    # A periodic window is a symmetric one of one value more, without the last.
    return np.asarray(_WINDOWS[name](n + 1, *parameters), float)[:n] if n > 1 else np.ones(n)
