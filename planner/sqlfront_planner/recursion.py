"""WITH RECURSIVE in the logical plan.

A recursive common table expression has an *anchor*, which gives the rows of the first level, and a *step*,
which makes the rows of each further level from the rows of the level before. The recursion ends with a level
without rows; its rows are the rows of all levels.

The query scans the rows of a :class:`LogicalRecursion` as shared rows
(:class:`~sqlfront_planner.shared_rows.SharedRows`): jobs compute them before the query's job, one for each
level. The step scans a :class:`LevelRows`, the rows of the level before.
:mod:`sqlfront_planner.shared_plans` plans these jobs.
"""

import itertools
from typing import Final

import pyarrow as pa
from msgspec.structs import replace

from sqlfront_connectors import base
from sqlfront_engine.processors.sources import held_rows
from sqlfront_planner.logical import LogicalLimit, LogicalPlan, LogicalScan
from sqlfront_values.expressions import Column, Expr

_numbers = itertools.count(1)

#: Spark's default limits: ``spark.sql.cteRecursionLevelLimit`` and ``spark.sql.cteRecursionRowLimit``.
LEVEL_LIMIT: Final = 100
ROW_LIMIT: Final = 1_000_000
#: The value of both settings that means no limit.
UNLIMITED: Final = -1
#: The estimated rows of a level, of which planning knows nothing: few, so that joins hold these rows and
#: stream the tables past.
_LEVEL_ROWS: Final = 1_000


class LevelRows:
    """The table that the step of a recursion reads: the rows of the level before. The table has a single
    version, and is its own snapshot. ``name``: the name of the common table expression; ``schema``: the names
    and types of its columns."""

    #: The name of the format, ``level``.
    format = "level"
    #: None: the rows are not partitioned by key.
    partitioning: base.Partitioning | None = None
    #: The version, always 0.
    version = 0
    #: False: each level has other rows.
    repeatable = True

    def __init__(self, name: str, schema: pa.Schema) -> None:
        self.name = name
        self.schema = schema
        #: The name of the job's resource that holds the rows.
        self.key = f"level-{next(_numbers)}"

    @property
    def statistics(self) -> "base.TableStatistics":
        """Statistics of the table: only the estimated number of rows."""
        return base.TableStatistics(rows=_LEVEL_ROWS)

    def snapshot(self) -> "LevelRows":
        """Return the table itself, its only version."""
        return self

    def exact_filters(self, filters: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """Return no filter, since the scan applies none of the filters exactly."""
        return ()

    def scan(self, request: "base.ScanRequest") -> "base.ScanPlan":
        """Plan a source that reads the requested columns of the rows. The job of a level finds the rows among
        its resources, under :attr:`key`."""
        return base.ScanPlan(held_rows.HeldRows(self.key, f"level of {self.name}", request.columns))

    def drop(self) -> None:
        """Do nothing: the table has nothing to free."""


class LogicalRecursion(LogicalPlan, frozen=True):
    """A recursion: the rows of ``anchor``, and for each level those that ``step`` makes from the level
    before, which it scans as ``level``. Both have equal types; the columns have the anchor's names.

    More than ``levels`` levels with rows, or ``rows`` rows in all, are errors (:data:`UNLIMITED` = no limit).
    ``limit``: the number of rows that the query needs; the recursion may end when it has as many, and then
    ``rows`` doesn't count. None: all rows are needed. Only shared rows have this node, as their whole plan.
    """

    anchor: LogicalPlan
    step: LogicalPlan
    level: LevelRows
    levels: int = LEVEL_LIMIT
    rows: int = ROW_LIMIT
    limit: int | None = None

    @property
    def schema(self) -> pa.Schema:
        return self.anchor.schema

    def row(self) -> tuple[Column, ...]:
        return self.anchor.row()

    @property
    def width(self) -> int:
        return self.anchor.width

    def inputs(self) -> tuple[LogicalPlan, ...]:
        return (self.anchor, self.step)

    def with_inputs(self, inputs: tuple[LogicalPlan, ...]) -> LogicalPlan:
        return replace(self, anchor=inputs[0], step=inputs[1])

    def of_level(self, plan: LogicalPlan) -> LogicalPlan:
        """Return the anchor's or the step's ``plan``, ended at the number of rows beyond which the recursion
        needs none, or fails."""
        most = self.rows if self.limit is None else self.limit
        return plan if most == UNLIMITED else LogicalLimit(plan, most)


def level_scan(level: LevelRows) -> LogicalScan:
    """Return a scan of all columns of the rows of a level."""
    return LogicalScan(level.name, level, level, tuple(range(len(level.schema))))
