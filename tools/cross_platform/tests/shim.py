"""A CUDA folder made of the wheels' ptxas, nvlink and libdevice, which notes each use of ptxas."""

import importlib.util
import stat
from pathlib import Path


def wheel_folder() -> Path:
    """Return the folder with the files of NVIDIA's wheels."""
    spec = importlib.util.find_spec("nvidia")
    assert spec is not None
    (root,) = spec.submodule_search_locations or []
    return Path(root) / "cu13"


def make(folder: Path, *, good_libdevice: bool = True) -> tuple[str, Path]:
    """Make the folder; return the XLA flag that names it and the file that uses are noted in.

    Args:
      folder: where to make it.
      good_libdevice: whether libdevice is the wheel's and not rubbish.
    """
    wheel, notes = wheel_folder(), folder / "uses"
    (folder / "bin").mkdir(parents=True)
    for name in ("ptxas", "nvlink"):
        tool = folder / "bin" / name
        tool.write_text(f'#!/bin/sh\necho {name} >> "{notes}"\nexec "{wheel}/bin/{name}" "$@"\n')
        tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    library = folder / "nvvm" / "libdevice" / "libdevice.10.bc"
    library.parent.mkdir(parents=True)
    if good_libdevice:
        library.symlink_to(wheel / "nvvm" / "libdevice" / "libdevice.10.bc")
    else:
        library.write_bytes(b"rubbish")
    return f"--xla_gpu_cuda_data_dir={folder}", notes
