"""What an entry is found by: everything that the compiled program depends on."""

import functools
import hashlib
import os
import platform
import re
from pathlib import Path
from typing import Any, Final

from tans_compiler._jaxlib import VERSION, debug_options_text, module_bytes
from tans_compiler.disk_cache.directory import SUFFIX
from tans_core import config
from tans_xla.compile import compile_context

# Flags that say where files go, or what is printed.
_NO_PART: Final = re.compile(
    r"(--)?xla_(dump_|enable_dumping|hlo_profile|detailed_logging|\w*_cache_(dir|mode|file))"
)


def entry_name(request: Any) -> str:
    """Return the file name of a `tans_xla.compile.Request`: the module's name and a hash."""
    digest = hashlib.sha256()
    for part in _parts(request):
        data = part if isinstance(part, bytes) else repr(part).encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    name = re.sub(
        r"[^\w.-]", "_", request.module.operation.attributes["sym_name"].value, flags=re.A
    )
    return f"{name[:100]}-{digest.hexdigest()}{SUFFIX}"


def _parts(request: Any) -> list[Any]:
    client = request.devices[0].client
    with_locations = config.compilation_cache_include_metadata_in_key.value
    return [
        module_bytes(request.module, with_locations=with_locations),
        VERSION,
        client.platform,
        client.platform_version,
        [(d.id, d.device_kind) for d in request.devices],
        _host() if client.platform == "cpu" else None,
        _flags(request.options),
        request.items,
        compile_context(),
        len(request.host_callbacks),
    ]


def _flags(options: Any) -> list[str]:
    """Return the flags as XLA has them, which the environment may not say (any more)."""
    words = debug_options_text(options).splitlines()[1:]  # the first line has blanks at random
    words += os.environ.get("LIBTPU_INIT_ARGS", "").split()
    return [w for w in words if not _NO_PART.match(w)]


@functools.cache
def _host() -> tuple[str, ...]:
    """Return what code for this CPU may rely on; machines that share a directory may differ."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = platform.processor()
    features = re.findall(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    return (platform.machine(), *sorted(set(features)))
