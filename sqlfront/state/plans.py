"""Plans that a session caches."""

from typing import TYPE_CHECKING, TypeAlias

import msgspec
import pyarrow as pa

from sqlfront_planner.lanes import Lane
from sqlfront_planner.plan import QueryPlan
from sqlfront_planner.row_compiler.row_plan import RowPlan
from sqlfront_planner.table_changes.keyed import KeyedChange

if TYPE_CHECKING:
    from sqlfront_connectors.memory import MemoryTable
    from sqlfront_connectors.memory.keyed_table import KeyedTable


class ChangePlan(msgspec.Struct, frozen=True, eq=False):
    """A cached plan of a DELETE or UPDATE of ``table``, which the catalog calls ``name``. ``rows``: the row
    plan (the plan of a row program) that finds the affected rows and, for UPDATE, their new values.
    ``updates``: True for UPDATE, False for DELETE. ``keyed``: the change as the table can make it without the
    row plan, None = it can't."""

    table: "KeyedTable"
    name: str
    updates: bool
    rows: RowPlan
    keyed: KeyedChange | None = None

    @property
    def lane(self) -> Lane:
        """The lane that finds the affected rows."""
        return self.rows.lane

    @property
    def reason(self) -> str:
        """The reason for the lane, in words that EXPLAIN shows."""
        return self.rows.reason


class InsertPlan(msgspec.Struct, frozen=True, eq=False):
    """A cached plan of an INSERT INTO ``table`` of rows that are in the statement; the catalog calls the
    table ``name``. ``rows``: the row plan (the plan of a row program) that computes the rows. ``required``:
    the ordinals of the table's NOT NULL columns."""

    table: "KeyedTable"
    name: str
    rows: RowPlan
    required: tuple[int, ...]

    @property
    def lane(self) -> Lane:
        """The lane that computes the rows."""
        return self.rows.lane

    @property
    def reason(self) -> str:
        """The reason for the lane, in words that EXPLAIN shows."""
        return self.rows.reason


class MergePlan(msgspec.Struct, frozen=True, eq=False):
    """A cached plan of a MERGE INTO ``table``, which the catalog calls ``name``. ``rows``: the row plan (the
    plan of a row program) that computes the changes, as :mod:`~sqlfront_engine.row_actions` describes them;
    ``schema``: their columns. ``distinct``: a row of the table may be found once only."""

    table: "MemoryTable"
    name: str
    rows: RowPlan
    schema: pa.Schema
    distinct: bool

    @property
    def lane(self) -> Lane:
        """The lane that computes the changes."""
        return self.rows.lane

    @property
    def reason(self) -> str:
        """The reason for the lane, in words that EXPLAIN shows."""
        return self.rows.reason


#: A program over a few rows, a job, or a change, an insert or a merge of the rows that a program gives.
Plan: TypeAlias = RowPlan | QueryPlan | ChangePlan | InsertPlan | MergePlan
