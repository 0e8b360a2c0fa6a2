"""The memory that evaluation may use: code claims a size before it makes the bytes.

A function that makes texts, arrays or maps computes beforehand, by arithmetic on lengths, how many bytes the
values will take at most (:mod:`sqlfront_values.functions.growth`). Small sizes pass at once. A claim of a
large size has one of these outcomes:

* cut: for values of many rows that take more than :data:`MOST_AT_ONCE`, or more than the query may hold,
  :class:`BatchTooLargeError` is raised, and the caller evaluates fewer rows at a time
  (:mod:`sqlfront_values.evaluate.boundary`);
* refused: :class:`TooLargeError` is raised for the size of one value, if such a value cannot exist, or if
  the caller has no room: constants folded at planning and rows computed one by one on the caller's thread
  have :data:`FEW_BYTES`;
* charged: the size counts as memory of the operator that runs on this thread, until the evaluation ends.

Code that may take long asks now and then whether it should stop (:func:`check`).
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final, Protocol

from sqlfront_values.errors import OperationalError

#: Bytes up to which sizes are not counted: counting would cost more than such sizes can harm.
UNCOUNTED: Final = 64 * 1024
#: Bytes that a caller without a memory account of its own may use, such as the planner that folds a constant.
FEW_BYTES: Final = 1024 * 1024
#: Seconds that a caller without a memory account may compute: longer work is the query's, which can be
#: stopped.
FEW_SECONDS: Final = 0.5
#: Bytes of a piece in which the values of many rows are made, so that a piece can be claimed before it is
#: made.
MOST_AT_ONCE: Final = 128 * 1024 * 1024
#: The most bytes of one text: the length of a text is a 32-bit number, in Spark as in sqlfront.
MOST_TEXT: Final = 2**31 - 1
#: More bytes than any memory has.
NO_LIMIT: Final = 2**62

_UNITS: Final = ("bytes", "KiB", "MiB", "GiB", "TiB")


class Account(Protocol):
    """A count of bytes in use, to which evaluation charges the sizes of the values that it makes.
    :class:`~sqlfront_engine.processor.MemoryAccount` implements it for an operator of a query."""

    def charge(self, size: int, maker: str = "") -> None:
        """Count ``size`` more bytes as in use. ``maker`` is the function that makes the bytes, for the
        error's text. Raises OperationalError if the account's limit doesn't allow the bytes."""

    def release(self, size: int) -> None:
        """Count ``size`` fewer bytes as in use: bytes that were charged before and are free now."""


class NotConstantError(OperationalError):
    """An error for a value that a plan can't keep: it is too large, or differs from run to run."""


class TooLargeError(NotConstantError):
    """An error for a value, or for the values of a batch, that do not fit into memory. ``size`` is the number
    of bytes that they would take (0 if evaluation took too long instead)."""

    def __init__(self, message: str, size: int) -> None:
        super().__init__(message, condition="UNABLE_TO_ACQUIRE_MEMORY")
        self.size = size


class BatchTooLargeError(TooLargeError):
    """An error for values of many rows that do not fit into memory together: the caller evaluates fewer rows
    at a time."""


class StoppedError(OperationalError):
    """An error that ends the work of this thread because the query was stopped (cancelled, failed elsewhere,
    or out of time). It doesn't tell the reason: the code that runs the query reports that."""


class _Room(threading.local):
    """The state of a thread: how much memory the thread may use, and what :func:`check` calls.

    The thread may make ``most`` bytes at once; ``held`` bytes are charged to ``account`` (None = nothing is
    charged). :func:`check` calls ``meanwhile``, and raises if ``is_stopped`` returns True; both may be
    None. ``plans``: the thread computes a value that a plan keeps for many runs."""

    account: Account | None = None
    meanwhile: Callable[[], None] | None = None
    is_stopped: Callable[[], bool] | None = None
    most: int = NO_LIMIT
    held: int = 0
    plans: bool = False


_room: Final = _Room()


def claim(maker: str, size: int, rows: int = 1, most: int = NO_LIMIT) -> None:
    """Claim room for ``size`` bytes that ``maker`` (a function's name, for the error) is about to make for
    ``rows`` rows. ``most`` is an upper limit of its own for these values, such as :data:`MOST_TEXT`, whatever
    room there is. Sizes up to :data:`UNCOUNTED` are neither checked nor charged.

    Raises :class:`BatchTooLargeError` if there is no room and ``rows`` is above 1, so that fewer rows may
    have room; raises :class:`TooLargeError` for one row.
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
    """Return the most bytes that this thread may make for one text: the limit that :func:`limited` has set
    for the thread, if any, but at most :data:`MOST_TEXT`. The memory account's limit is ignored. A loop that
    builds a text compares the text's size with this number."""
    return min(_room.most, MOST_TEXT)


def occupy(account: Account | None, is_stopped: Callable[[], bool] | None) -> None:
    """Charge the values that this thread makes from now on to ``account`` (None = to no account), and let
    :func:`check` on this thread raise when ``is_stopped`` returns True (None = never)."""
    _room.account = account
    _room.is_stopped = is_stopped


def check() -> None:
    """Raise :class:`StoppedError` if the query of this thread was cancelled or ran out of time. Call the
    thread's :func:`meanwhile` function first, if it has one.

    Loops that may take long between two batches call :func:`check` now and then."""
    if _room.meanwhile is not None:
        _room.meanwhile()
    is_stopped = _room.is_stopped
    if is_stopped is not None and is_stopped():
        raise StoppedError("the query was stopped")


def meanwhile() -> Callable[[], None] | None:
    """Return the function that :func:`check` calls on this thread, as :func:`set_meanwhile` set it; None if
    no function is set."""
    return _room.meanwhile


def set_meanwhile(function: Callable[[], None] | None) -> None:
    """Let :func:`check` call ``function`` on this thread, or no function if None. So a thread that is busy
    with a long evaluation can do other work in between. ``function`` may stop the query but must not
    raise."""
    _room.meanwhile = function


class watched:  # noqa: N801 - a context manager that is entered for each new query
    """A context manager: within it, :func:`check` on this thread raises :class:`StoppedError` when
    ``is_stopped`` returns True. At its end the thread's earlier function is in force again (or none)."""

    __slots__ = ("_before", "_is_stopped")

    def __init__(self, is_stopped: Callable[[], bool]) -> None:
        self._is_stopped = is_stopped

    def __enter__(self) -> None:
        self._before, _room.is_stopped = _room.is_stopped, self._is_stopped

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        _room.is_stopped = self._before


def state() -> dict[str, object]:
    """Return a copy of this thread's state (its account, limits and functions), for another thread that
    continues the work by :func:`resume`."""
    return dict(vars(_room))


def resume(state: dict[str, object], is_stopped: Callable[[], bool] | None = None) -> None:
    """Let this thread continue the work of another thread, which waits meanwhile. ``state``: the other
    thread's memory account, limits and functions, as :func:`state` has returned them. :func:`check` raises
    here if the ``is_stopped`` function in ``state`` or the argument ``is_stopped`` returns True."""
    vars(_room).update(state)
    before = _room.is_stopped
    if is_stopped is not None:
        _room.is_stopped = is_stopped if before is None else lambda: is_stopped() or before()


def held() -> int:
    """Return the number of bytes that this thread has charged to its account and not released; the argument
    of a later :func:`give_back`."""
    return _room.held


def give_back(before: int) -> None:
    """Release from the thread's account the bytes that were charged since :func:`held` returned
    ``before``."""
    more, _room.held = _room.held - before, before
    if more and _room.account is not None:
        _room.account.release(more)


@contextmanager
def returned() -> Iterator[None]:
    """Return a context that releases at its end the bytes that were claimed in the context."""
    before = _room.held
    try:
        yield
    finally:
        give_back(before)


@contextmanager
def limited(most: int = FEW_BYTES, seconds: float = FEW_SECONDS) -> Iterator[None]:
    """Return a context in which this thread makes values of at most ``most`` bytes, charged to no account.

    TooLargeError is raised in place of StoppedError if the query is stopped, or if :func:`check` is called
    later than ``seconds`` after the context's start."""
    account, before, is_stopped = _room.account, _room.most, _room.is_stopped
    _room.account, _room.most = None, min(most, before)
    end = monotonic() + seconds
    _room.is_stopped = lambda: monotonic() > end or (is_stopped is not None and is_stopped())
    try:
        yield
    except StoppedError as error:
        raise TooLargeError(f"the computation of a constant takes longer than {seconds:g} s", 0) from error
    finally:
        _room.account, _room.most, _room.is_stopped = account, before, is_stopped


@contextmanager
def planning() -> Iterator[None]:
    """Return a context in which this thread computes a value that a plan keeps for many runs, so that
    :func:`vary` raises, within the limits of :func:`limited`."""
    before, _room.plans = _room.plans, True
    try:
        with limited():
            yield
    finally:
        _room.plans = before


def vary(what: str) -> None:
    """Raise NotConstantError if this thread computes a value that a plan keeps. Call the function before
    ``what`` is read, of which each run has another value, such as the current day."""
    if _room.plans:
        raise NotConstantError(f"{what} differs from run to run, so that no plan can hold it.")


def in_units(size: int) -> str:
    """Format a number of bytes in the largest unit that gives at least 1.

    >>> in_units(0), in_units(1536), in_units(8 * 1024**2)
    ('0 bytes', '1.5 KiB', '8 MiB')
    """
    amount, unit = float(size), 0
    while amount >= 1024 and unit < len(_UNITS) - 1:
        amount /= 1024
        unit += 1
    return f"{amount:.1f}".removesuffix(".0") + f" {_UNITS[unit]}"
