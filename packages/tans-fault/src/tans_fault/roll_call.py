"""The roll call: who is there, before anyone connects to the coordination service.

jaxlib's client can only wait or abort when a process is missing, an id is taken or the service is
not there. So each process first answers a roll call on a TCP port next to the service's (its port
plus one). The connection stays open for as long as the process lives: an id is free again exactly
when its holder is gone, and its end tells a process that the coordinator is gone.

Messages are lines of JSON. A process sends ``{"call": ..., "id": ..., "count": ..., "same": ...}``;
the answers are ``{"refused": kind, "text": ...}`` and ``{"go": bool, "here": {id: incarnation}}``
with all who are here, then with each who comes, or ``{"go": bool, "left": id}``. Once connected to
the service, a process sends ``{"incarnation": ...}``, which tells its present start from earlier
ones with its id; null stands for it until then. The answer to ``{"ping": n}`` is ``{"pong": n}``,
after all that happened before.
"""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, Final

CALL: Final = "tans roll call 3"
_LONGEST_LINE: Final = 1 << 16
_LONGEST_ANSWER: Final = 1 << 22  # some 100,000 processes
_FIRST_LINE_SECONDS: Final = 30.0
_LATE_SECONDS: Final = 2.0
# A machine that vanishes without a word is noticed by silence after some 25 s: its id is free then.
_KEEP_ALIVE: Final = {"TCP_KEEPIDLE": 10, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}
type Message = dict[str, Any]


class Server:
    """Takes the roll of a job on a port, in a thread of its own.

    Args:
      host: address to listen on.
      port: port to listen on; 0 for any.
      count: number of processes.
      may_rejoin: whether a process may come back after the job began.
    """

    def __init__(self, host: str, port: int, count: int, *, may_rejoin: bool) -> None:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server((host, port), family=family, backlog=count + 16)
        self.port: int = self._socket.getsockname()[1]
        self._count = count
        self._may_rejoin = may_rejoin
        self._lock = threading.Lock()
        self._present: dict[int, socket.socket] = {}
        self._incarnations: dict[int, int | None] = {}
        self._same: dict[str, Any] | None = None
        self._began = False
        self._changed = threading.Condition(self._lock)
        threading.Thread(target=self._accept, name="roll call", daemon=True).start()

    def close(self) -> None:
        """Stop: new calls find no one, present processes see the end of their connection."""
        # shutdown, because close alone does not wake a thread in accept.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        with self._lock:
            present = list(self._present.values())
        for connection in present:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def wait_empty(self, seconds: float) -> bool:
        """Wait until no process is present; return whether that is so."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._present, seconds)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with (
            contextlib.suppress(OSError, ValueError),
            connection,
            connection.makefile("rb") as lines,
        ):
            connection.settimeout(_FIRST_LINE_SECONDS)
            message = json.loads(lines.readline(_LONGEST_LINE) or "null")
            if not _is_call(message):
                return
            refusal = self._admit(message, connection)
            if refusal is not None:
                _send(connection, refusal)
                return
            process = message["id"]
            try:
                keep_alive(connection)
                with self._lock:
                    here = {"go": self._began, "here": self._incarnations}
                    _send(connection, here, socket.MSG_DONTWAIT)
                self._report(process)
                while line := lines.readline(_LONGEST_LINE):
                    self._hear(process, connection, json.loads(line))
            finally:
                with self._lock:
                    del self._present[process], self._incarnations[process]
                    self._changed.notify_all()
                self._report(process)

    def _hear(self, process: int, connection: socket.socket, message: Any) -> None:
        """Act on what a process that is present says."""
        match message:
            case {"incarnation": int(incarnation)}:
                with self._lock:
                    self._incarnations[process] = incarnation
                self._report(process)
            case {"ping": int(number)}:
                with self._lock:  # in its turn between reports
                    _send(connection, {"pong": number}, socket.MSG_DONTWAIT)

    def _admit(self, message: Message, connection: socket.socket) -> Message | None:
        """Add a process to the roll, or return why not."""
        process, count, same = message["id"], message["count"], message["same"]
        with self._lock:
            if count != self._count or not 0 <= process < count:
                return {"refused": "count", "text": f"{self._count}"}
            # The end of the one before may not have been read yet, though it happened earlier.
            if not self._changed.wait_for(lambda: process not in self._present, _LATE_SECONDS):
                return {"refused": "duplicate", "text": ""}
            if self._began and not self._may_rejoin:
                return {"refused": "began", "text": ""}
            expected = self._same = same if self._same is None else self._same
            for what, value in expected.items():
                if same.get(what) != value:
                    return {"refused": "differs", "text": f"{what}: {value}"}
            self._present[process] = connection
            self._incarnations[process] = None
        return None

    def _report(self, process: int) -> None:
        """Tell all that a process came, who it is, or that it left; and whether all have been."""
        with self._lock:
            self._began |= len(self._present) == self._count
            news: Message = {"go": self._began}
            if process in self._present:
                news["here"] = {process: self._incarnations[process]}
            else:
                news["left"] = process
            for connection in self._present.values():
                try:  # a stopped process must not hold up the others
                    _send(connection, news, socket.MSG_DONTWAIT)
                except OSError:  # it would miss something, so its line ends
                    with contextlib.suppress(OSError):
                        connection.shutdown(socket.SHUT_RDWR)


def _is_call(message: Any) -> bool:
    return (
        isinstance(message, dict)
        and message.get("call") == CALL
        and all(type(message.get(name)) is int for name in ("id", "count"))
        and isinstance(message.get("same"), dict)
    )


def _send(connection: socket.socket, message: Message, flags: int = 0) -> None:
    connection.sendall(json.dumps(message).encode() + b"\n", flags)


def keep_alive(connection: socket.socket) -> None:
    """Wait for messages without limit, but notice when the other machine is gone."""
    connection.settimeout(None)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEP_ALIVE.items():
        if hasattr(socket, name):
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


class Answer:
    """A process's open line to the roll call.

    Args:
      connection: a connected socket.
      process_id: the id claimed.
      count: the number of processes that this process expects.
      same: what must be equal on all processes, by name.
    """

    def __init__(
        self, connection: socket.socket, process_id: int, count: int, same: dict[str, Any]
    ) -> None:
        self._connection = connection
        self._lines = connection.makefile("rb")
        self._claim = {"call": CALL, "id": process_id, "count": count, "same": same}
        self._closing = False
        self._news = threading.Condition()
        self._here: dict[int, int | None] | None = None
        self._pings = self._pongs = 0
        self._is_over = False

    def wait(self, seconds: float) -> None:
        """Claim the id and wait until all processes are present.

        Raises:
          TimeoutError: naming the processes that are missing.
          ValueError: the id is taken, or the number of processes differs.
          RuntimeError: versions or programs differ, or the job began and takes no one back.
        """
        end = time.monotonic() + seconds
        why = f"waited {seconds:.3g} s"
        try:
            _send(self._connection, self._claim)
            while True:
                self._connection.settimeout(max(end - time.monotonic(), 0.001))
                line = self._lines.readline(_LONGEST_ANSWER)
                if not line:
                    why = "the coordinator gave up waiting, or was lost,"
                    raise TimeoutError
                message = self._message(line)
                if "refused" in message:
                    raise self._refusal(message)
                self._note(message)
                if message["go"]:
                    break
        except (TimeoutError, ConnectionError):
            raise self.gave_up(why) from None
        keep_alive(self._connection)

    def gave_up(self, why: str) -> TimeoutError:
        """Return the error that names the processes that did not come."""
        missing = self.missing()
        names = "unknown" if missing is None else ", ".join(map(str, missing))
        what = f"these did not come: {names}. Start them, correct num_processes, or raise "
        if missing == []:
            what = "all came and not all could connect. Correct the mtls_ arguments, or raise "
        return TimeoutError(
            f"distributed.initialize: {why} for {self._claim['count']} processes, but {what}"
            "initialization_timeout."
        )

    def _message(self, line: bytes) -> Message:
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if not isinstance(message, dict) or not {"refused", "go"} & message.keys():
            raise RuntimeError(
                f"distributed.initialize: the answer to the roll call was {line[:40]!r}, expected "
                "one of a Tans coordinator of this version. Correct coordinator_address, or start "
                "the coordinator from the same installation."
            )
        return message

    def watch(self, lost: Callable[[], None]) -> None:
        """Call `lost` from a thread when the coordinator goes away without our `close`."""

        def read() -> None:
            with contextlib.suppress(OSError, ValueError), self._lines as lines:
                while line := lines.readline(_LONGEST_ANSWER):
                    self._note(json.loads(line))
            if not self._closing:
                lost()
            with self._news:
                self._is_over = True
                self._news.notify_all()

        threading.Thread(target=read, name="roll call watch", daemon=True).start()

    def _note(self, message: Message) -> None:
        with self._news:
            here = self._here = self._here or {}
            if "pong" in message:
                self._pongs = message["pong"]
            elif "left" in message:
                here.pop(message["left"], None)
            else:
                here |= {int(process): which for process, which in message["here"].items()}
            self._news.notify_all()

    def identify(self, incarnation: int) -> None:
        """Say which start of the process this is; returns when the coordinator has heard it."""
        with contextlib.suppress(OSError):  # the coordinator is gone, and `watch` says so
            _send(self._connection, {"incarnation": incarnation})
        self.refresh()

    def refresh(self) -> None:
        """Wait until all is known that the coordinator knew at the call, or that it is gone."""
        with self._news:
            self._pings += 1
            number = self._pings
            with contextlib.suppress(OSError):
                _send(self._connection, {"ping": number})
            self._news.wait_for(lambda: self._pongs >= number or self._is_over)

    def here(self) -> dict[int, int | None]:
        """Return the incarnations of the processes that are here; None where not yet said."""
        with self._news:
            return dict(self._here or {})

    def missing(self) -> list[int] | None:
        """Return which processes are not here now; None before the first news."""
        with self._news:
            if self._here is None:
                return None
            return [p for p in range(self._claim["count"]) if p not in self._here]

    def pause(self, seconds: float) -> None:
        """Wait for news, at most so long."""
        with self._news:
            self._news.wait(seconds)

    def close(self) -> None:
        """Leave: the id is free again."""
        self._closing = True
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()

    def _refusal(self, message: Message) -> Exception:
        kind, text = message["refused"], message["text"]
        process, count = self._claim["id"], self._claim["count"]
        if kind == "duplicate":
            return ValueError(
                f"distributed.initialize: process_id={process} was given, but another process "
                "holds that id and is alive; expected an id of its own for each process. Give "
                "this one another id, or end the other."
            )
        if kind == "count":
            return ValueError(
                f"distributed.initialize: num_processes={count} was given, but the coordinator "
                f"was started for {text}; expected the same. Start all processes with one "
                "num_processes."
            )
        if kind == "began":
            return RuntimeError(
                f"distributed.initialize: process {process} came after the job had begun, and "
                "the job takes no process back; expected recoverable processes. Start the job "
                "with jax_enable_recoverability, or restart all processes."
            )
        what, _, expected = text.partition(": ")
        return RuntimeError(
            f"distributed.initialize: process {process} has {what} "
            f"{self._claim['same'].get(what)}, but the first process of the job has {expected}; "
            "expected the same on all. Start all processes from the same installation and program, "
            "with the same arguments."
        )


def connect(host: str, port: int, seconds: float) -> socket.socket:
    """Return a connection as soon as someone listens.

    Raises:
      OSError: why there was none after `seconds`.
    """
    end = time.monotonic() + seconds
    pause = threading.Event()
    while True:
        left = max(end - time.monotonic(), 0.05)
        try:
            return socket.create_connection((host, port), timeout=left)
        except OSError:
            if time.monotonic() >= end:
                raise
        pause.wait(min(0.1, left))
