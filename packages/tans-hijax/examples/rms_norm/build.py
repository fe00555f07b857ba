"""Build the kernels with CMake: ``python build.py FOLDER [--cuda]``."""

import argparse
import shutil
import subprocess
from pathlib import Path

import tans.ffi

SOURCE = Path(__file__).parent


class BuildError(RuntimeError):
    """A tool is missing, or the compiler refused the sources."""


def build(folder: Path, cuda: bool = False) -> Path:
    """Build the library in a folder and return its path.

    Raises:
      BuildError: there is no CMake or no compiler; the text says what to install.
    """
    for tools, what in ((("cmake",), "CMake"), (("c++", "g++", "clang++"), "a C++17 compiler")):
        if not any(map(shutil.which, tools)):
            raise BuildError(
                f"rms_norm: given a machine without {' or '.join(tools)}, expected {what}. "
                "Install it: pip install cmake; apt-get install g++."
            )
    options = [f"-DFFI_INCLUDE_DIR={tans.ffi.include_dir()}"]
    if cuda:
        options.append("-DRMS_NORM_CUDA=ON")
    _run("cmake", "-S", str(SOURCE), "-B", str(folder), *options)
    _run("cmake", "--build", str(folder), "--config", "Release")
    found = [p for p in Path(folder).rglob("*rms_norm*") if p.suffix in (".so", ".dylib", ".dll")]
    return next(p for p in found if "cuda" not in p.name)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BuildError(f"{' '.join(command)} failed:\n{done.stdout}\n{done.stderr}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cuda", action="store_true", help="build the CUDA kernels too")
    given = parser.parse_args()
    print(build(given.folder, given.cuda))
