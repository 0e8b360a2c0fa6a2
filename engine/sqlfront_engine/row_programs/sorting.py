"""The sorting of rows in row programs."""

from collections.abc import Sequence

from sqlfront_engine.row_programs.expressions import is_comparable
from sqlfront_engine.row_programs.program import ProgramRun, Row, RowStep
from sqlfront_values.expressions import SortKey


def sorted_rows(
    source: RowStep, keys: Sequence[SortKey], first: int = 0, last: int | None = None
) -> RowStep | None:
    """Return a step that sorts the rows of ``source`` by ``keys`` and returns the rows from index ``first``
    up to but excluding ``last`` (None = to the end). Returns None if only the kernels can compare the
    keys."""
    if not all(is_comparable(source.types[key.ordinal]) for key in keys):
        return None

    def rows(run: ProgramRun) -> Sequence[Row]:
        found = list(source.rows(run))
        for key in reversed(keys):  # least significant key first: each sort is stable
            _sort(found, key)
        return found[first:last]

    return RowStep(rows, source.types)


def _sort(rows: list[Row], key: SortKey) -> None:
    ordinal = key.ordinal
    nulls = [row for row in rows if row[ordinal] is None]
    known = [row for row in rows if row[ordinal] is not None] if nulls else rows
    known.sort(key=lambda row: row[ordinal], reverse=key.order.descends)  # type: ignore[arg-type,return-value]
    if nulls:
        rows[:] = nulls + known if key.order.nulls_first else known + nulls
