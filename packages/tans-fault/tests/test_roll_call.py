"""The roll call: who is here, which start of it, and whether the coordinator is."""

import socket
import threading
import time

import pytest

from tans_core.errors import JaxRuntimeError
from tans_fault import epochs, roll_call
from tans_fault.coordination import CoordinationClient, state

SAME = {"program": "x"}


@pytest.fixture
def server():
    """A roll call of two processes that may come back."""
    made = roll_call.Server("127.0.0.1", 0, 2, may_rejoin=True)
    yield made
    made.close()


@pytest.fixture
def come(server):
    """Function by which processes, by id and incarnation, answer the call together."""
    answers = []

    def answer_all(incarnations, lost=lambda: None):
        made = [
            roll_call.Answer(roll_call.connect("127.0.0.1", server.port, 5.0), process, 2, SAME)
            for process in incarnations
        ]
        answers.extend(made)
        waiting = [threading.Thread(target=answer.wait, args=(20.0,)) for answer in made]
        for thread in waiting:
            thread.start()
        for thread in waiting:
            thread.join()
        for answer, incarnation in zip(made, incarnations.values(), strict=True):
            answer.watch(lost)
            answer.identify(incarnation)
        return made

    yield answer_all
    for answer in answers:
        answer.close()


def wait_until(condition):
    end = time.monotonic() + 20
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    assert condition()


def test_a_replacement_is_not_taken_for_the_one_that_left(come, monkeypatch):
    first, second = come({0: 10, 1: 11})
    first.refresh()
    assert first.here() == {0: 10, 1: 11}
    monkeypatch.setattr(state, "answer", first)
    note = first._note

    def late(message):
        time.sleep(0.1)  # news reach this process late
        note(message)

    first._note = late
    second.close()
    (third,) = come({1: 12})
    first.refresh()  # as after an exchange whose answer is new
    assert epochs.departed({0: 10, 1: 12}) == []
    assert epochs.departed({0: 10, 1: 11}) == [1]
    assert third.here() == {0: 10, 1: 12}


def test_an_id_is_taken_over_though_the_end_of_its_holder_is_read_late(server, come, monkeypatch):
    hear = server._hear

    def busy(*message):
        hear(*message)
        time.sleep(0.5)  # and the end of the connection waits behind it

    monkeypatch.setattr(server, "_hear", busy)
    _, second = come({0: 10, 1: 11})
    second.close()
    (third,) = come({1: 12})
    assert third.here() == {0: 10, 1: 12}


def test_who_left_is_missing(server, come):
    first, second = come({0: 10, 1: 11})
    assert first.missing() == []
    second.close()
    wait_until(lambda: first.missing() == [1])
    assert first.here() == {0: 10}
    assert not server.wait_empty(0.0)
    first.close()
    assert server.wait_empty(20.0)


def test_a_process_that_does_not_read_loses_its_line_rather_than_some_news(server, come):
    stopped = roll_call.connect("127.0.0.1", server.port, 5.0)
    roll_call._send(stopped, {"call": roll_call.CALL, "id": 0, "count": 2, "same": SAME})
    with stopped, stopped.makefile("rb") as lines:
        lines.readline()
        (second,) = come({1: 11})
        server._present[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        stopped.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        for incarnation in range(20_000):
            second.identify(incarnation)
            if second.missing() == [0]:
                break
        wait_until(lambda: second.missing() == [0])
    assert second.here() == {1: incarnation}


@pytest.mark.parametrize("said", [b"5\n", b"{}\n", b'{"incarnation": "x"}\n', b'{"ping": []}\n'])
def test_what_says_nothing_is_passed_over(server, come, said):
    first, second = come({0: 10, 1: 11})
    first._connection.sendall(said)
    first.refresh()
    assert second.here() == {0: 10, 1: 11}


class Raw:
    """Stands for jaxlib's client of a service that is gone."""

    def connect(self):
        pass

    def key_value_try_get(self, key):
        raise JaxRuntimeError("UNAVAILABLE: no service")


def test_no_error_of_the_service_is_seen_when_the_coordinator_is_gone(server, come, monkeypatch):
    ended = threading.Event()

    def end():
        time.sleep(0.2)  # a busy machine: the thread that ends the process is late
        ended.set()

    first, _ = come({0: 10, 1: 11}, end)
    monkeypatch.setattr(state, "answer", first)
    client = CoordinationClient(Raw())
    client.connect()
    with pytest.raises(JaxRuntimeError, match="UNAVAILABLE"):
        client.key_value_try_get("x")
    assert not ended.is_set()
    server.close()
    with pytest.raises(JaxRuntimeError):  # here the end of the process is only pretended
        client.key_value_try_get("x")
    assert ended.is_set()
