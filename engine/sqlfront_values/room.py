"""Room for what evaluation makes: a size is claimed before its bytes are made.

A function that makes texts, arrays or maps says beforehand, by arithmetic on lengths, how many bytes they
will take at most (:mod:`sqlfront_values.functions.growth`). Small sizes pass at once. A large one is

* cut: values of many rows that take more than :data:`MOST_AT_ONCE`, or more than the query may hold, raise
  :class:`BatchTooLargeError`, and whoever evaluates takes fewer rows at a time
  (:mod:`sqlfront_values.evaluate.boundary`);
* refused with :class:`TooLargeError`, if it is one value and cannot exist, or the caller has no room for it:
  what is folded at planning or computed row by row on the caller's thread has :data:`FEW_BYTES`;
* charged against the memory of the operator that runs on this thread, until the evaluation ends.

What may take long asks now and then whether it is to stop (:func:`check`).
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final, Protocol

from sqlfront_values.errors import OperationalError

#: Sizes up to here are not worth counting.
UNCOUNTED: Final = 64 * 1024
#: What a caller without a memory account of its own has room for.
FEW_BYTES: Final = 1024 * 1024
#: How long such a caller computes (s).
FEW_SECONDS: Final = 0.5
#: The values of many rows are made in pieces of at most that many bytes.
MOST_AT_ONCE: Final = 128 * 1024 * 1024
#: The most bytes of one text: its length is a 32-bit number, in Spark as here.
MOST_TEXT: Final = 2**31 - 1
#: More bytes than any memory has.
NO_LIMIT: Final = 2**62

_UNITS: Final = ("bytes", "KiB", "MiB", "GiB", "TiB")


class Account(Protocol):
    """Where sizes are charged; see :class:`~sqlfront_engine.processor.MemoryAccount`."""

    def charge(self, size: int, maker: str = "") -> None:
        """Count ``size`` more bytes for ``maker``, or raise OperationalError."""

    def release(self, size: int) -> None:
        """Give back ``size`` bytes charged before."""


class TooLargeError(OperationalError):
    """A value, or the values of a batch, that there is no room for; ``size`` in bytes."""

    def __init__(self, message: str, size: int) -> None:
        super().__init__(message, condition="UNABLE_TO_ACQUIRE_MEMORY")
        self.size = size


class BatchTooLargeError(TooLargeError):
    """The values of many rows that have to be made in pieces."""


class StoppedError(OperationalError):
    """What runs on this thread is to stop; whoever runs it knows why."""


class _Room(threading.local):
    """What this thread may make now: ``most`` bytes at once, ``held`` of them are charged to ``account``;
    what it does meanwhile; and whether it is to stop."""

    account: Account | None = None
    meanwhile: Callable[[], None] | None = None
    is_stopped: Callable[[], bool] | None = None
    most: int = NO_LIMIT
    held: int = 0


_room: Final = _Room()


def claim(maker: str, size: int, rows: int = 1, most: int = NO_LIMIT) -> None:
    """Claim room for ``size`` bytes that ``maker`` (a function's name) is about to make for that many rows,
    no value of which may take more than ``most``.

    Raises :class:`BatchTooLargeError` if fewer rows may have room, else :class:`TooLargeError`.
    """
    if size > UNCOUNTED:
        _claim(maker, size, rows, most)


def _claim(maker: str, size: int, rows: int, most: int) -> None:
    limit = min(_room.most, most)
    if size > limit or (rows > 1 and size > MOST_AT_ONCE):
        kind = BatchTooLargeError if rows > 1 else TooLargeError
        limit = min(limit, MOST_AT_ONCE) if rows > 1 else limit
        raise kind(f"{maker} would make {in_units(size)}; the limit is {in_units(limit)}.", size)
    account = _room.account
    if account is None:
        return
    try:
        account.charge(size, maker)
    except OperationalError as error:
        kind = BatchTooLargeError if rows > 1 else TooLargeError
        raise kind(error.message, size) from None
    _room.held += size


def room_left() -> int:
    """The most bytes that this thread may make for one text, as far as that is known without asking its
    account: for loops that find out while they go."""
    return min(_room.most, MOST_TEXT)


def occupy(account: Account | None, is_stopped: Callable[[], bool] | None) -> None:
    """Charge what this thread makes from now on to the account (None: to nobody), and let :func:`check` ask
    whether it is to stop."""
    _room.account = account
    _room.is_stopped = is_stopped


def check() -> None:
    """Raise :class:`StoppedError` if the query that this thread works for was cancelled, or its time is over:
    for loops that may take long between two batches."""
    if _room.meanwhile is not None:
        _room.meanwhile()
    is_stopped = _room.is_stopped
    if is_stopped is not None and is_stopped():
        raise StoppedError("the query was stopped")


def meanwhile() -> Callable[[], None] | None:
    """What :func:`check` calls on this thread."""
    return _room.meanwhile


def set_meanwhile(function: Callable[[], None] | None) -> None:
    """Let :func:`check` call the function on this thread: whoever computes for others on a thread that has
    something else to do, too, does that meanwhile. It may stop the query, and raises nothing."""
    _room.meanwhile = function


class watched:  # noqa: N801 - a context manager that is entered for each new query
    """Let :func:`check` ask meanwhile whether this thread is to stop."""

    __slots__ = ("_before", "_is_stopped")

    def __init__(self, is_stopped: Callable[[], bool]) -> None:
        self._is_stopped = is_stopped

    def __enter__(self) -> None:
        self._before, _room.is_stopped = _room.is_stopped, self._is_stopped

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        _room.is_stopped = self._before


def state() -> dict[str, object]:
    """What holds for this thread, for another one that goes on in its place (:func:`resume`)."""
    return dict(vars(_room))


def resume(state: dict[str, object], is_stopped: Callable[[], bool] | None = None) -> None:
    """Let for this thread hold what held for another one, which waits for it; ``is_stopped`` tells of further
    reasons to stop."""
    vars(_room).update(state)
    before = _room.is_stopped
    if is_stopped is not None:
        _room.is_stopped = is_stopped if before is None else lambda: is_stopped() or before()


def held() -> int:
    """Bytes that this thread has charged for what it is evaluating; for :func:`give_back`."""
    return _room.held


def give_back(before: int) -> None:
    """Release what was charged since :func:`held` said ``before``."""
    more, _room.held = _room.held - before, before
    if more and _room.account is not None:
        _room.account.release(more)


@contextmanager
def returned() -> Iterator[None]:
    """Give back at the end what is claimed meanwhile."""
    before = _room.held
    try:
        yield
    finally:
        give_back(before)


@contextmanager
def limited(most: int = FEW_BYTES, seconds: float = FEW_SECONDS) -> Iterator[None]:
    """Let this thread make values of at most ``most`` bytes meanwhile, charged to nobody, and be stopped
    (TooLargeError) at the first :func:`check` after some seconds."""
    account, before, is_stopped = _room.account, _room.most, _room.is_stopped
    _room.account, _room.most = None, min(most, before)
    end = monotonic() + seconds
    _room.is_stopped = lambda: monotonic() > end or (is_stopped is not None and is_stopped())
    try:
        yield
    except StoppedError as error:
        raise TooLargeError(f"a constant takes longer than {seconds:g} s", 0) from error
    finally:
        _room.account, _room.most, _room.is_stopped = account, before, is_stopped


def in_units(size: int) -> str:
    """Bytes in the largest unit that gives at least 1.

    >>> in_units(0), in_units(1536), in_units(8 * 1024**2)
    ('0 bytes', '1.5 KiB', '8 MiB')
    """
    amount, unit = float(size), 0
    while amount >= 1024 and unit < len(_UNITS) - 1:
        amount /= 1024
        unit += 1
    return f"{amount:.1f}".removesuffix(".0") + f" {_UNITS[unit]}"
