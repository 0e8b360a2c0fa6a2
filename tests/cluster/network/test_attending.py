"""Who waits for a message takes it from the socket itself; whatever else comes is handled as always."""

import os
import select
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

from sqlfront_cluster.network.attending import Gate
from sqlfront_cluster.network.frames import HEADER, FrameKind
from sqlfront_cluster.network.transport import Body, InvalidMessage, Peer
from tests.cluster.network.meeting import Note, Town, certificates, network_threads, open_files, until

pytestmark = pytest.mark.skipif(not hasattr(select, "epoll"), reason="attending needs Linux's epoll")


class Asking:
    """A member that asks another one, which answers even numbers at once and odd ones never."""

    def __init__(self, town: Town, listen: str = "127.0.0.1:0", **options: Any) -> None:
        self.threads: list[str] = []
        self.on_heard: Callable[[Any], None] = lambda message: None
        self.transport, self.member = town.member("asking", self._heard, listen=None, **options)
        self.other, self.others = town.member("other", self._answer, listen=listen, **options)
        self.transport.connect(self.other.addresses[0])
        self.peer = self.member.peer("other")
        self.back = self.others.peer("asking")

    def _answer(self, peer: Peer, message: Any, body: Body) -> None:
        if message.number % 2 == 0:
            peer.send(message, () if body is None else (body,))

    def _heard(self, peer: Peer, message: Any, body: Body) -> None:
        self.threads.append(threading.current_thread().name)
        self.on_heard(message)

    def heard(self, count: int) -> Callable[[], bool]:
        return lambda: len(self.member.messages) >= count

    def ask(self, number: int = 2, body: bytes = b"") -> bool:
        """Send and attend until the answer is there; whether that was possible."""
        wanted = len(self.member.messages) + 1
        self.peer.send(Note(number), (body,) if body else ())
        done = self.transport.attend([self.peer], self.heard(wanted))
        until(self.heard(wanted))
        return done

    def attend_for_ever(self) -> None:
        """Attend again whenever another thread has been reading, as it may under load."""
        while True:
            self.transport.attend([self.peer], lambda: False)

    def warm_up(self) -> None:
        """The first one who wants to attend can't yet, and often finds the answer there already."""
        until(lambda: self.ask() and self.threads[-1] == threading.current_thread().name)


@pytest.fixture(params=["tcp", "unix", "tls"])
def asking(request: pytest.FixtureRequest, town: Town) -> Asking:
    listen = f"unix:{town.folder}/other" if request.param == "unix" else "127.0.0.1:0"
    options: dict[str, Any] = {}
    if request.param == "tls":
        options["tls"] = certificates()
    asking = Asking(town, listen, **options)
    asking.warm_up()
    return asking


def test_the_thread_that_waits_handles_the_answer(asking: Asking) -> None:
    def most_are_handled_here() -> bool:
        asking.threads.clear()
        for _ in range(200):
            asking.ask()
        return asking.threads.count(threading.current_thread().name) > 100

    # On a busy machine the other thread, which may begin to read while nobody waits, is in time more often.
    assert any(most_are_handled_here() for _ in range(5))
    assert len(asking.member.messages) == len(asking.others.messages)


def test_large_answers_arrive_whole(asking: Asking) -> None:
    for size in (1, 70_000, 3_000_000):
        asking.ask(body=bytes(size))
        assert asking.member.messages[-1][2].size == size


def test_what_nobody_waits_for_is_handled_as_always(asking: Asking) -> None:
    asking.back.send(Note(7))
    until(lambda: asking.member.messages[-1][1] == Note(7))

    assert asking.threads[-1].startswith("sqlfront-network")


def test_what_else_comes_meanwhile_is_handled_in_order(asking: Asking) -> None:
    before = len(asking.member.messages)
    for number in range(100, 110):
        asking.back.send(Note(number))
    asking.ask(2)
    until(asking.heard(before + 11))

    notes = [message.number for _, message, _ in asking.member.messages[before:]]
    assert [number for number in notes if number >= 100] == list(range(100, 110))


def test_many_threads_wait_at_once(asking: Asking) -> None:
    errors: list[BaseException] = []
    answered: set[int] = set()
    asking.on_heard = lambda message: answered.add(message.number)

    def work(thread: int) -> None:
        try:
            for number in range(thread * 1000, thread * 1000 + 200, 2):
                asking.peer.send(Note(number))
                asking.transport.attend([asking.peer], lambda number=number: number in answered)  # type: ignore[misc]
                until(lambda number=number: number in answered)  # type: ignore[misc]
        except BaseException as error:  # noqa: BLE001 - shown by the assertion
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert errors == []
    assert len(answered) == 4 * 100


def test_several_connections_are_attended_together(town: Town) -> None:
    transport, member = town.member("hub", listen=None)
    names = ("x", "y", "z")
    for name in names:
        other, _ = town.member(name, lambda peer, message, body: peer.send(message))
        transport.connect(other.addresses[0])
    peers = [member.peer(name) for name in names]

    def ask() -> bool:
        wanted = len(member.messages) + len(peers)
        for peer in peers:
            peer.send(Note(1))
        done = transport.attend(peers, lambda: len(member.messages) >= wanted)
        until(lambda: len(member.messages) >= wanted)
        return done

    until(ask)
    assert sum(ask() for _ in range(50)) > 25


def test_a_lost_connection_ends_the_wait(asking: Asking) -> None:
    threading.Timer(0.1, lambda: asking.back.close("enough")).start()
    asking.peer.send(Note(1))

    assert not asking.transport.attend([asking.peer], lambda: False)

    assert asking.member.lost("other") == "enough"
    assert not asking.transport.attend([asking.peer], lambda: False)


def test_closing_here_ends_the_wait(asking: Asking) -> None:
    threading.Timer(0.1, asking.transport.close).start()

    assert not asking.transport.attend([asking.peer], lambda: False)


def test_an_error_in_handling_closes_the_connection_with_its_text(asking: Asking) -> None:
    def refuse(message: Any) -> None:
        raise InvalidMessage("that is no answer")

    asking.on_heard = refuse
    threading.Timer(0.1, asking.back.send, (Note(2),)).start()
    asking.transport.attend([asking.peer], lambda: False)

    assert asking.member.lost("other") == "that is no answer"
    assert asking.others.lost("asking") == "that is no answer"


def test_an_answer_that_is_none_closes_the_connection(town: Town) -> None:
    asking = Asking(town)
    asking.warm_up()
    nonsense = HEADER.pack(b"sf", 1, FrameKind.MESSAGE, 3, 0) + b"abc"
    threading.Timer(0.05, lambda: asking.back.channel.socket.sendall(nonsense)).start()
    asking.transport.attend([asking.peer], lambda: False)

    assert "a malformed message" in asking.member.lost("other")


def test_what_ends_a_connection_just_when_somebody_wants_to_attend_it(town: Town) -> None:
    asking = Asking(town)

    def refuse(message: Any) -> None:
        if message.number == 3:
            raise InvalidMessage("that is no answer")

    asking.on_heard = refuse
    assert not asking.transport.attend([asking.peer], lambda: False)
    with asking.back.corked():  # so that the second has come with the first
        asking.back.send(Note(1))
        asking.back.send(Note(3))
    assert asking.member.lost("other") == "that is no answer"
    until(asking.peer.finished.is_set)

    assert not asking.transport.attend([asking.peer], lambda: False)


def test_an_interrupt_while_nothing_comes_changes_nothing(asking: Asking) -> None:
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        asking.attend_for_ever()

    asking.warm_up()
    assert asking.member.count("disconnected") == 0


class Interrupted:
    """A lock after whose taking the thread is interrupted."""

    def __init__(self, lock: Any) -> None:
        self._lock = lock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)

    def acquire(self, blocking: bool) -> bool:
        assert self._lock.acquire(blocking)
        raise KeyboardInterrupt


def test_an_interrupt_just_before_the_wait_changes_nothing(
    asking: Asking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking.peer, "_reading", Interrupted(asking.peer._reading))
    with pytest.raises(KeyboardInterrupt):
        asking.transport.attend([asking.peer], lambda: False)
    monkeypatch.undo()

    asking.warm_up()
    assert asking.member.count("disconnected") == 0


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_interrupt_just_after_the_wait_changes_nothing(
    asking: Asking, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    whole = Gate.open

    def interrupted(gate: Gate) -> None:
        monkeypatch.undo()
        if when == "after":
            whole(gate)
        raise KeyboardInterrupt

    monkeypatch.setattr(Gate, "open", interrupted)
    with pytest.raises(KeyboardInterrupt):  # once the reading thread has handled the message before
        until(lambda: asking.transport.attend([asking.peer], lambda: True))

    asking.warm_up()
    assert asking.member.count("disconnected") == 0


def test_an_interrupt_in_the_midst_of_a_message_ends_the_connection(asking: Asking) -> None:
    def interrupt(message: Any) -> None:
        raise KeyboardInterrupt

    asking.on_heard = interrupt
    threading.Timer(0.2, asking.back.send, (Note(2),)).start()
    with pytest.raises(KeyboardInterrupt):
        asking.transport.attend([asking.peer], lambda: False)
    assert "interrupted" in asking.member.lost("other")


def test_nothing_is_left_of_an_attended_connection(town: Town) -> None:
    files, threads = open_files(), len(network_threads())
    asking = Asking(town)
    asking.warm_up()
    asking.transport.close()
    asking.other.close()
    until(lambda: open_files() <= files)
    assert len(network_threads()) <= threads
