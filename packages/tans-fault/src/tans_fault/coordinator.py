"""A coordinator of its own: ``python -m tans_fault.coordinator --num-processes 4``.

It runs the roll call and the coordination service and nothing else, so that every process of the
job, process 0 too, may be lost. It ends at SIGTERM, SIGINT, or when its standard input ends, if
asked to: then it can't outlive the program that started it. Files for encrypted connections are
taken from JAX_MTLS_CERT_FILE, JAX_MTLS_KEY_FILE and JAX_MTLS_CA_FILE.
"""

import argparse
import contextlib
import os
import random
import signal
import socket
import sys
import threading
from collections.abc import Sequence

from tans_fault import settings
from tans_fault.joining import start_coordinator
from tans_fault.options import count

_TRIES = 20
_TRIES_OF_PORTS = 1000
_PORTS = (20_000, 32_000)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a coordinator until it is told to end; return the exit status."""
    options = _parser().parse_args(arguments)
    host, colon, port = options.address.rpartition(":")
    end = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: end.set())
    problem = ""
    for _ in range(_TRIES if port == "0" else 1):
        try:
            address = f"{host}{colon}{free_port(host.strip('[]')) if port == '0' else port}"
            roll, service = start_coordinator(
                address,
                options.num_processes,
                heartbeat_timeout=options.heartbeat_timeout,
                register_timeout=options.initialization_timeout,
                shutdown_timeout=options.shutdown_timeout,
                recoverable=options.recoverable,
                security=settings.security(),
            )
            break
        except (OSError, RuntimeError, ValueError) as error:
            problem = str(error)
    else:
        os.write(2, f"{problem}\n".encode())
        return 1
    os.write(1, f"coordinator listens on {address}\n".encode())
    if options.end_with_input:
        threading.Thread(target=_wait_for_input, args=(end,), daemon=True).start()
    end.wait()
    service.shutdown()
    roll.close()
    return 0


def free_port(host: str) -> int:
    """Return a port on which nothing listens now, nor on the next.

    It is none that the system gives to connections, lest one takes it before the coordinator does.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for _ in range(_TRIES_OF_PORTS):
        port = random.SystemRandom().randrange(*_PORTS)
        with contextlib.suppress(OSError), contextlib.ExitStack() as servers:
            for number in (port, port + 1):
                servers.enter_context(socket.create_server((host, number), family=family))
            return port
    raise OSError(
        f"tans_fault.coordinator: no two free ports in a row from {_PORTS[0]} to {_PORTS[1]} on "
        f"{host}, expected some. Name one with --address HOST:PORT."
    )


def _wait_for_input(end: threading.Event) -> None:
    sys.stdin.buffer.read()
    end.set()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tans_fault.coordinator", description=__doc__)
    parser.add_argument("--num-processes", type=count, required=True, help="processes of the job")
    parser.add_argument("--address", default="127.0.0.1:0", help="host:port; port 0 takes any")
    parser.add_argument("--heartbeat-timeout", type=count, default=10, help="seconds")
    parser.add_argument("--initialization-timeout", type=count, default=300, help="seconds")
    parser.add_argument("--shutdown-timeout", type=count, default=300, help="seconds")
    parser.add_argument("--recoverable", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--end-with-input", action="store_true", help="end when stdin is closed")
    return parser


if __name__ == "__main__":
    sys.exit(main())
