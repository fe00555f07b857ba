"""Arithmetic of windows: named paddings, dilations and the shapes that sliding gives."""

from collections.abc import Sequence

from tans_xla.sizes import Size, as_size_groups, max_size

type Padding = tuple[tuple[Size, Size], ...]

_NAMES = ("VALID", "SAME", "SAME_LOWER")


def dilated_size(size: Size, dilation: Size) -> Size:
    """Return the length of `size` elements with ``dilation - 1`` gaps between neighbours."""
    return size + max_size(size - 1, 0) * (dilation - 1)


def count_windows(size: Size, window: Size, stride: Size) -> Size:
    """Return how many windows fit into `size` elements at steps of `stride`."""
    return max_size((size - window) // stride + 1, 0)


def padtype_to_pads(
    in_shape: Sequence[Size],
    window_shape: Sequence[Size],
    window_strides: Sequence[Size],
    padding: str,
) -> list[tuple[Size, Size]]:
    """Return the padding below and above each dimension that a named padding stands for.

    Args:
      in_shape: sizes of the dimensions that the window slides over.
      window_shape: sizes of the (dilated) window.
      window_strides: steps between windows.
      padding: "VALID" pads nothing; "SAME" pads so that there are ``ceil(size / stride)`` windows,
        with the odd element above; "SAME_LOWER" with the odd element below.

    Raises:
      RuntimeError: an unknown name.

    Example:
      >>> padtype_to_pads((5,), (2,), (1,), "SAME")
      [(0, 1)]
    """
    name = padding.upper() if isinstance(padding, str) else padding
    if name not in _NAMES:
        raise RuntimeError(
            f"padding: given {padding!r}, expected one of {', '.join(_NAMES)}, or a pair of ints "
            "(below, above) for each dimension."
        )
    if name == "VALID":
        return [(0, 0)] * len(in_shape)
    pads = []
    for size, window, stride in zip(in_shape, window_shape, window_strides, strict=True):
        windows = -(-size // stride)
        total = max_size((windows - 1) * stride + window - size, 0)
        half = total // 2
        pads.append((half, total - half) if name == "SAME" else (total - half, half))
    return pads


def canonical_padding(padding: Sequence[Sequence[int]]) -> Padding:
    """Return explicit padding as a tuple of pairs of sizes."""
    return as_size_groups(padding, 2)
