"""A statement's timeout, and what cancels it, reach its planning."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

import sqlfront
from sqlfront_values import room
from sqlfront_values.stacks import on_fresh_stack

LONG = " UNION ALL ".join(f"SELECT {number} AS a" for number in range(300))


def test_a_timeout_that_is_over_ends_planning() -> None:
    with sqlfront.connect() as connection, connection.cursor() as cursor:
        with pytest.raises(sqlfront.OperationalError, match="timeout of 0 s") as caught:
            cursor.execute(LONG, timeout=0)
        assert caught.value.sqlstate == "57014"
        cursor.execute(f"SELECT count(*) FROM ({LONG})", timeout=60)
        assert cursor.fetchall() == [(300,)]


@pytest.mark.parametrize("text", [LONG, f"EXPLAIN {LONG}", f"CREATE TEMPORARY VIEW v AS {LONG}"])
def test_a_query_that_is_cancelled_while_it_is_planned_ends(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with sqlfront.connect() as connection, connection.cursor() as cursor:
        check, calls = room.check, 0

        def cancel_in_the_midst() -> None:
            nonlocal calls
            calls += 1
            if calls == 2:
                cursor.cancel()
            check()

        for module in ("sqlfront_planner.optimizer", "sqlfront_planner.binder.query"):
            monkeypatch.setattr(f"{module}.check", cancel_in_the_midst)
        with pytest.raises(sqlfront.OperationalError, match="OPERATION_CANCELED"):
            cursor.execute(text)


def test_planning_asks_before_each_query_and_each_rule() -> None:
    asked = 0

    def never() -> bool:
        nonlocal asked
        asked += 1
        return False

    with sqlfront.connect() as connection, room.watched(never):
        connection.session.execute(LONG)
    assert asked > 303


def test_what_goes_on_on_another_stack_is_stopped_there() -> None:
    with room.watched(lambda: True), pytest.raises(room.StoppedError):
        on_fresh_stack(room.check)


def test_room_that_is_claimed_on_another_stack_counts_on_this_one() -> None:
    def claim() -> None:
        room.claim("a test", 2 * room.UNCOUNTED)

    account = _Account()
    room.occupy(account, None)
    try:
        on_fresh_stack(claim)
        assert account.size == room.held() == 2 * room.UNCOUNTED
        room.give_back(0)
        assert account.size == 0
    finally:
        room.occupy(None, None)


class _Account:
    """Counts what is charged."""

    size = 0

    def charge(self, size: int, maker: str = "") -> None:
        self.size += size

    def release(self, size: int) -> None:
        self.size -= size


def test_an_interrupt_ends_what_it_leaves_on_the_other_stack() -> None:
    began, ended = threading.Event(), threading.Event()

    def work() -> None:
        began.set()
        try:
            while True:
                room.check()
        finally:
            ended.set()

    _interrupted(lambda: on_fresh_stack(work), began)
    assert ended.wait(30)


def _interrupted(call: Callable[[], object], began: threading.Event) -> None:
    """Make the call on the main thread, and interrupt it once it has begun; once more after some seconds,
    since an interrupt that arrives while a finalizer of garbage runs is lost."""
    over = threading.Event()

    def interrupt() -> None:
        began.wait(30)
        while not over.is_set():
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            over.wait(10)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt), ending(over):
        call()


@contextmanager
def ending(over: threading.Event) -> Iterator[None]:
    try:
        yield
    finally:
        over.set()
