"""What compilers refuse, in our words: which function, and what to do about it."""

import re
from typing import Any, Final

from tans_compiler._jaxlib import JaxRuntimeError

# What a compiler says, and the remedy.
_KNOWN: Final = (
    (
        r"No PTX compilation provider",
        "compiling for NVIDIA GPUs needs ptxas and nvlink. Write: pip install --no-deps "
        "nvidia-cuda-nvcc, or give the folder of a CUDA toolkit with XLA_FLAGS="
        "--xla_gpu_cuda_data_dir=DIR.",
    ),
    (
        r"libdevice not found",
        "the program calls mathematical functions, for which NVIDIA GPUs need libdevice. Write: "
        "pip install --no-deps nvidia-nvvm.",
    ),
    (
        r"No FFI handler registered for (\S+)",
        "the program calls that library function, which the plugin's package has. Write: pip "
        "install --no-deps jax-cuda13-plugin in the version of jaxlib.",
    ),
    (
        r"Dot algorithm (\w+) is not supported|Failed to serialize StableHLO to plugin version",
        "the platform has no such matmul precision. Choose another preset, for example "
        "'BF16_BF16_F32_X3', or leave precision out; tans.precision.audit compares them.",
    ),
    (
        r"RESOURCE_EXHAUSTED",
        "the program needs more memory than the device has. tans.explain shows the largest "
        "buffers with their source lines; shard them, or use checkpoint.",
    ),
)


def explain_refusal(error: Exception, request: Any) -> Exception | None:
    """Return a fuller error for a program that a backend refused, or None.

    Args:
      error: what the compiler raised.
      request: the compilation, a `tans_xla.compile.Request`.
    """
    text = str(error)
    for pattern, remedy in _KNOWN:
        if re.search(pattern, text):
            device = request.devices[0]
            first = text.splitlines()[0].rstrip(".")
            return JaxRuntimeError(
                f"{first}. This came from compiling {request.name} for {device.device_kind} "
                f"({device.platform}); {remedy}"
            )
    return None
