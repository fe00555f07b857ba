"""What an entry is found by: everything that the compiled program depends on."""

import functools
import hashlib
import os
import platform
import re
import sys
from pathlib import Path
from typing import Any, Final

from tans_compiler._jaxlib import VERSION, module_bytes
from tans_compiler.disk_cache.directory import SUFFIX
from tans_core import config
from tans_xla.compile import compile_context

# Flags that say where files go, or what is printed.
_NO_PART: Final = re.compile(r"--xla_(dump_|hlo_profile|detailed_logging|\w*_cache_(dir|mode))")
_VARIABLES: Final = ("XLA_FLAGS", "LIBTPU_INIT_ARGS")


def entry_name(request: Any) -> str:
    """Return the file name of a `tans_xla.compile.Request`: the module's name and a hash."""
    digest = hashlib.sha256()
    for part in _parts(request):
        data = part if isinstance(part, bytes) else repr(part).encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    name = str(request.module.operation.attributes["sym_name"]).strip('"')
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
        _flags(),
        request.items,
        compile_context(),
        len(request.host_callbacks),
    ]


def _flags() -> list[str]:
    words = [w for variable in _VARIABLES for w in os.environ.get(variable, "").split()]
    words += [w for w in sys.argv[1:] if w.startswith("--xla")]
    return sorted(w for w in words if not _NO_PART.match(w))


@functools.cache
def _host() -> tuple[str, ...]:
    """Return what code for this CPU may rely on; machines that share a directory may differ."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        text = platform.processor()
    features = re.findall(r"^(?:flags|Features)\s*:(.*)$", text, re.MULTILINE)
    return (platform.machine(), *sorted(set(features)))
