"""The server that viewers take profiles of a running program from."""

import socket
import threading
from collections.abc import Callable
from typing import Any, Final

from tans_compiler import _jaxlib
from tans_xla.backend import get_client

_profiler: Final = _jaxlib.profiler()
_lock: Final = threading.Lock()


class _Current:
    server: Any = None


def start_server(port: int, requires_backend: bool = True) -> Any:
    """Start a server that viewers take profiles from.

    Args:
      port: on which it listens.
      requires_backend: whether to start the backend first.

    Raises:
      ValueError: a server runs already, or `port` is no port.
      OSError: the port is taken.
    """
    if not isinstance(port, int) or not 0 < port < 1 << 16:
        raise ValueError(
            f"start_server: given port={port!r}, expected an int from 1 to 65535. Write for "
            "example start_server(9999)."
        )
    with _lock:
        if _Current.server is not None:
            raise ValueError(
                "start_server: given a process with a profiler server, expected at most one. Use "
                "that one, or call stop_server first."
            )
        if requires_backend:
            get_client()
        _check_free(port)
        _Current.server = _profiler.start_server(port)
        return _Current.server


def _check_free(port: int) -> None:
    """Check that nobody listens on a port, since the server would say nothing of it."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError as error:
            raise OSError(
                error.errno,
                f"start_server: given port={port}, which can't be listened on ({error.strerror}); "
                "expected a free one. Choose another port.",
            ) from error


def stop_server() -> None:
    """Stop the server.

    Raises:
      ValueError: none runs.
    """
    with _lock:
        if _Current.server is None:
            raise ValueError(
                "stop_server: given a process without a profiler server, expected one. Call "
                "start_server first."
            )
        _Current.server = None


def register_subprocess(pid: int, port: int) -> Callable[[], None]:
    """Let profiles of this process include those of a subprocess with a server.

    Args:
      pid: its number.
      port: of its profiler server.

    Returns:
      A function that ends it.
    """
    return _profiler.register_subprocess(pid, port)
