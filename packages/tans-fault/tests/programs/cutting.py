"""Cuts the connections between the processes of a job."""

import contextlib
import os
import socket


def cut_connections():
    """Shut down all TCP connections except those to the coordinator."""
    port = int(os.environ["TANS_TEST_ADDRESS"].rpartition(":")[2])
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            connection = socket.socket(fileno=os.dup(int(name)))
            with connection:
                ports = {connection.getpeername()[1], connection.getsockname()[1]}
                if not ports & {port, port + 1}:
                    connection.shutdown(socket.SHUT_RDWR)
