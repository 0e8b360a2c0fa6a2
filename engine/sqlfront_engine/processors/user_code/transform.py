"""Map, filter and flat-map by a user's functions, several operations in one operator."""

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import ClassVar, Final, assert_never

import msgspec
import pyarrow as pa

from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take
from sqlfront_engine.processors.user_code.calls import CallSite
from sqlfront_engine.processors.user_code.values import UserRows, rows_of, to_logical, to_physical
from sqlfront_values.columns.batches import slices
from sqlfront_values.errors import DataError
from sqlfront_values.user_functions import UserFunction

#: Rows handled between two yields to the worker: the user's code holds a worker meanwhile.
ROWS: Final = 4096


class OperationKind(Enum):
    """The kinds of operations. The user's function returns for a row's values the new row (MAP), whether the
    row stays (FILTER), or any number of new rows (FLAT_MAP); or it returns a batch for a batch (MAP_BATCHES).
    """

    MAP = "map"
    """A function from a row's values to the new row: one value, or a tuple for several columns."""
    FILTER = "filter"
    """A function of the row's values; the row stays if the result is true."""
    FLAT_MAP = "flat-map"
    """A function from a row's values to any number of new rows."""
    MAP_BATCHES = "map-batches"
    """A function from a ``pa.RecordBatch`` to a batch, or None for no rows."""


class Operation(msgspec.Struct, frozen=True):
    """One operation of a :class:`Transform`. ``schema``: the output's schema in logical types. ``step``: the
    name of the step in messages."""

    kind: OperationKind
    step: str
    function: UserFunction
    schema: pa.Schema


class Transform(Processor, frozen=True, tag_field="processor", tag=True):
    """A chain of operations by users' functions; ``schema`` is the schema of its input, in logical types.

    Between two operations, values are converted to the stated column types, as if they were written to a
    column and read again, so that the results don't depend on how many operations one Transform has.
    """

    repeatable: ClassVar[bool] = False

    schema: pa.Schema
    operations: tuple[Operation, ...]

    def run(self, context: ProcessorContext) -> Steps:
        by_rows = self.operations[0].kind is not OperationKind.MAP_BATCHES
        while (batch := (yield Take(0))) is not None:
            for piece in slices(batch, ROWS) if by_rows else (batch,):
                yield from self._outputs(piece)
                yield piece.slice(0, 0)  # yields to the worker even if no row was made

    def _outputs(self, piece: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        pieces: Iterable[_Piece] = (_Piece(self.schema, batch=piece),)
        for operation in self.operations:
            pieces = _apply(operation, pieces)
        for output in pieces:
            yield output.batch()

    def describe(self) -> str:
        return "; ".join(
            f"{each.kind.value.capitalize()}: {CallSite(each.step, each.function).name}"
            for each in self.operations
        )


class _Piece:
    """Rows between two operations: either a ``batch`` in physical form or ``rows``, Python values. ``site``:
    the call that returned ``rows``, whose values are not checked against ``schema`` yet; None = the values
    fit."""

    __slots__ = ("_batch", "_rows", "_schema", "_site")

    def __init__(
        self,
        schema: pa.Schema,
        *,
        batch: pa.RecordBatch | None = None,
        rows: UserRows | None = None,
        site: CallSite | None = None,
    ) -> None:
        self._schema, self._batch, self._rows, self._site = schema, batch, rows, site

    def rows(self) -> UserRows:
        """Return the rows between two operations as Python values of the schema's types. Raises DataError for
        a value of the user's function that doesn't fit."""
        if self._rows is None:
            assert self._batch is not None
            return UserRows.of(self._batch, self._schema)
        return self._rows if self._site is None else self._rows.settled(self._schema, self._site.refused)

    def batch(self) -> pa.RecordBatch:
        """Return the rows between two operations as a batch in physical form. Raises DataError for a value of
        the user's function that doesn't fit."""
        if self._batch is not None:
            return self._batch
        assert self._rows is not None
        refuse = DataError if self._site is None else self._site.refused
        return self._rows.to_batch(self._schema, refuse)

    def logical_batch(self) -> pa.RecordBatch:
        """Return the rows between two operations as a batch of logical types. Raises DataError for a value of
        the user's function that doesn't fit."""
        return to_logical(self.batch(), self._schema)


def _apply(operation: Operation, pieces: Iterable[_Piece]) -> Iterator[_Piece]:
    site = CallSite(operation.step, operation.function)
    for piece in pieces:
        match operation.kind:
            case OperationKind.MAP:
                yield _mapped(operation, site, piece)
            case OperationKind.FILTER:
                yield _filtered(operation, site, piece)
            case OperationKind.FLAT_MAP:
                yield from _flat_mapped(operation, site, piece)
            case OperationKind.MAP_BATCHES:
                yield from _batches_mapped(operation, site, piece)
            case _:
                assert_never(operation.kind)


def _mapped(operation: Operation, site: CallSite, piece: _Piece) -> _Piece:
    function = operation.function.function
    rows = piece.rows()
    with site:
        results = [function(*row) for row in rows]
    return _Piece(operation.schema, rows=rows_of(results, len(operation.schema), site.refused), site=site)


def _filtered(operation: Operation, site: CallSite, piece: _Piece) -> _Piece:
    function = operation.function.function
    rows = piece.rows()
    with site:
        kept = [place for place, row in enumerate(rows) if function(*row)]
    if len(kept) == rows.length:
        return piece
    columns = [[column[place] for place in kept] for column in rows.columns]
    return _Piece(operation.schema, rows=UserRows(columns, len(kept)))


def _flat_mapped(operation: Operation, site: CallSite, piece: _Piece) -> Iterator[_Piece]:
    width = len(operation.schema)
    for results in _results(operation.function.function, site, piece.rows()):
        yield _Piece(operation.schema, rows=rows_of(results, width, site.refused), site=site)


def _results(function: Callable[..., object], site: CallSite, rows: UserRows) -> Iterator[list[object]]:
    """Call ``function`` for all rows, and yield the new rows that it returns, in several lists: after
    :data:`ROWS` new rows a new list begins, so that not all of them need memory at a time. Raises DataError
    if a result is not an iterable of rows."""
    pending: list[object] = []
    with site:
        for row in rows:
            given = function(*row)
            if isinstance(given, list | tuple):
                pending += given
            elif isinstance(given, str | bytes) or not isinstance(given, Iterable):
                raise site.refused(f"an iterable of rows is expected, not {given!r}")
            else:
                for result in given:
                    pending.append(result)
                    if len(pending) >= ROWS:
                        yield pending
                        pending = []
            if len(pending) >= ROWS:
                yield pending
                pending = []
    yield pending


def _batches_mapped(operation: Operation, site: CallSite, piece: _Piece) -> Iterator[_Piece]:
    batch = piece.logical_batch()
    if not batch.num_rows:
        return
    with site:
        result = operation.function.function(batch)
    if result is None:
        return
    if not isinstance(result, pa.RecordBatch):
        raise site.refused(f"a pa.RecordBatch is expected, not a {type(result).__name__}")
    yield _Piece(operation.schema, batch=to_physical(result, operation.schema, site.refused))
