"""A count of the rows that a statement's result gives to its reader."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

import pyarrow as pa

from sqlfront.observability.observation import Observation, Phase, StatementState

RowT = TypeVar("RowT")


class RowAccount:
    """A count of the rows that one result gives to its reader, for the statement's observation. A row that is
    read twice counts once: the account has the position of the furthest row that was given."""

    __slots__ = ("_bytes", "_complete", "_error", "_furthest", "_observation", "_piece", "_rows")

    def __init__(self, observation: Observation) -> None:
        self._observation = observation
        # Rows and bytes that have come from the source, and whether the source has ended.
        self._rows = self._bytes = 0
        self._complete = False
        self._error: BaseException | None = None
        # The rows given before the current piece, and the current piece: its place, length and progress.
        self._furthest = 0
        self._piece: tuple[int, int, Iterator[object]] | None = None
        observation.account = self
        observation.enter(Phase.IDLE)

    # ---- from the source

    def batches(self, source: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the batches of ``source``, and count the rows and bytes that arrive. Each call starts again
        from the result's first row."""
        self._rows, self._bytes, self._complete, self._error = 0, 0, False, None
        observation = self._observation
        while True:
            observation.enter(Phase.FETCH)
            try:
                batch = next(source, None)
            except BaseException as error:
                self._error = error
                raise
            finally:
                observation.enter(Phase.IDLE)
            if batch is None:
                self._complete = True
                return
            self._rows += batch.num_rows
            self._bytes += batch.nbytes
            yield batch

    def written(self, rows: int | None) -> None:
        """Record the number of rows that the statement wrote; None = the statement writes no rows."""
        self._observation.rows_written = rows

    def all_there(self, rows: int) -> None:
        """Record that the result has all its ``rows`` (their number) in memory as Python values, whose bytes
        aren't counted."""
        self._rows, self._complete = rows, True

    # ---- to the reader

    def given(self, place: int) -> None:
        """Record that the first ``place`` rows of the result (a number) have been given to the reader."""
        self._settle()
        self._furthest = max(self._furthest, min(place, self._rows))

    def gives(self, rows: int) -> None:
        """Record that ``rows`` rows more, after all rows that were given before, have been given to the
        reader."""
        self.given(self.rows_given + rows)

    def piece(self, rows: Sequence[RowT]) -> Iterator[RowT]:
        """Return an iterator over ``rows``, the result's next rows behind the furthest row given so far; each
        row counts as given when it is taken from the iterator."""
        self._settle()
        iterator = iter(rows)
        self._piece = (self._furthest, len(rows), iterator)
        return iterator

    @property
    def rows_given(self) -> int:
        """The number of rows given so far."""
        if self._piece is None:
            return self._furthest
        place, count, iterator = self._piece
        return place + count - iterator.__length_hint__()  # type: ignore[attr-defined]

    @property
    def bytes_given(self) -> int | None:
        """The bytes of the rows given so far, estimated as their share of the bytes of all rows that have
        arrived; None if bytes aren't counted."""
        return self._bytes * self.rows_given // self._rows if self._bytes and self._rows else None

    def _settle(self) -> None:
        self._furthest, self._piece = self.rows_given, None

    # ---- the end

    def failed(self, error: BaseException) -> None:
        """Record the error that ends the reader's call; :meth:`close` passes the error to the observation."""
        self._error = error

    def close(self, *, completed: bool = False, later: bool = False) -> None:
        """End the observation, as finished, closed early or failed; do nothing if it has ended.
        ``completed``: whether the result's job has come to its end. ``later``: whether the caller is a
        finalizer, so that the watchers have to be called later."""
        observation = self._observation
        if observation.state is not StatementState.RUNNING:
            return
        self._settle()
        observation.rows_given, observation.bytes_given = self._furthest, self.bytes_given
        observation.account = None
        if self._error is not None:
            observation.fail(self._error, later=later)
        else:
            done = self._complete or completed
            observation.end(StatementState.FINISHED if done else StatementState.CLOSED, later=later)
        self._error = None


class Reading:
    """A reference to the account that counts a result's rows. The result and its iterators hold such
    references: when the last one is gone, the observation of the statement ends."""

    __slots__ = ("account",)

    def __init__(self, account: RowAccount) -> None:
        self.account = account

    def counted(self, rows: Sequence[RowT]) -> Iterator[RowT]:
        """Yield the ``rows`` of a result that has all its rows in memory, and count each row that is taken;
        the end of the iteration ends the observation."""
        try:
            yield from self.account.piece(rows)
        finally:
            self.account.close()

    def __del__(self) -> None:
        self.account.close(later=True)
