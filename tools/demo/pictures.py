"""Pictures of what the demo learned."""

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

mpl.use("Agg")
from matplotlib import pyplot as plt


def draw_curve(history: dict[str, list], path: Path) -> None:
    """Save the learning curve."""
    figure, left = plt.subplots(figsize=(7, 4))
    epochs = range(1, len(history["loss"]) + 1)
    left.semilogy(epochs, history["loss"], color="tab:blue")
    left.set_xlabel("epoch")
    left.set_ylabel("training loss", color="tab:blue")
    right = left.twinx()
    right.plot(epochs, [100 * a for a in history["test"]], color="tab:orange")
    right.set_ylabel("test accuracy (%)", color="tab:orange")
    left.set_title("Handwritten digits, trained with Tans")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def draw_errors(read: Any, truth: Any, images: Any, norms: Any, path: Path) -> int:
    """Save the test digits that are read wrongly; return how many there are.

    Args:
      read: digits as the network reads them, [n].
      truth: what they are, [n].
      images: [n, 64].
      norms: norm of each image's own gradient, [n].
      path: where to save.
    """
    wrong = np.flatnonzero(read != truth)
    shown = wrong[np.argsort(-norms[wrong])][:10]
    rows = max(1, -(-len(shown) // 5))
    figure, axes = plt.subplots(rows, 5, figsize=(8, 0.6 + 1.9 * rows), squeeze=False)
    for axis in axes.flat:
        axis.axis("off")
    for axis, i in zip(axes.flat, shown, strict=False):
        axis.imshow(images[i].reshape(8, 8), cmap="gray_r")
        axis.set_title(f"{truth[i]} read as {read[i]}\n|gradient| {norms[i]:.1f}", fontsize=9)
    figure.suptitle(f"{len(wrong)} of {len(truth)} test digits are read wrongly")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return len(wrong)
