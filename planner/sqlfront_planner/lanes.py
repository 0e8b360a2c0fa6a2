"""The choice of a query's lane and of the parallelism of its job, with the reason."""

from collections.abc import Iterable
from enum import Enum, StrEnum
from typing import Final

import msgspec

from sqlfront_planner.logical import (
    LogicalAggregate,
    LogicalJoin,
    LogicalPlan,
    LogicalScan,
    LogicalSetOperation,
    LogicalSort,
    LogicalWindow,
    SetKind,
    walk_plan,
)
from sqlfront_planner.pruning import joins
from sqlfront_planner.pruning.scans import KeyConditions
from sqlfront_planner.shared_rows import OWN_TABLES
from sqlfront_planner.statistics.cardinality import Cardinality, column_bytes, table_rows

#: Input rows up to which a query runs on the caller's thread: a hop to another thread takes 13 to 35 us,
#: which so little work doesn't earn back.
INLINE_ROWS: Final = 10_000
#: Input rows up to which each operator has one instance: for so few rows a second instance costs more to
#: start and to feed than it saves.
SERIAL_ROWS: Final = 100_000


class Lane(StrEnum):
    """The kind of execution that answers a statement."""

    DIRECT = "direct"
    """Rows looked up by key, projected and filtered; no job."""
    LIGHT = "light"
    """A light job on the DAG engine."""
    DURABLE = "durable"
    """A durable job of the session's job store."""
    MIXED = "mixed"
    """A light job over rows that Spark filtered, projected and grouped before."""
    SPARK = "spark"
    """Spark runs the query's text."""
    COMMAND = "command"
    """A statement other than a query, run without Spark."""


#: Estimated rows of inputs up to which, with several members, the coordinator collects the rows instead of
#: exchanging them: an exchange begins with messages between all members, which takes longer than the work on
#: so few rows.
COLLECT_ROWS: Final = 20_000


class Regime(Enum):
    """The parallelism of a light job."""

    INLINE = "inline"
    """One instance of every operator, on the caller's thread."""
    SERIAL = "serial"
    """One instance of every operator, on the workers."""
    PARALLEL = "parallel"
    """Operators in several instances. With many workers rows are routed to the instance of their key; with
    few workers one instance collects the rows that belong together."""


class InputSize(msgspec.Struct, frozen=True):
    """The estimated input of a query: the ``rows`` that its scans read (not all rows of the tables), their
    ``size`` in bytes, and the number of ``tables``."""

    rows: float
    size: float
    tables: int


class Choice(msgspec.Struct, frozen=True):
    """The choice for a query: its lane, the parallelism of its job, and the reason for both in words for
    EXPLAIN."""

    lane: Lane
    regime: Regime
    reason: str


def input_size(
    plans: Iterable[LogicalPlan], cardinality: Cardinality, conditions: KeyConditions | None = None
) -> InputSize:
    """Estimate the input of the scans in a query's plans.

    A scan that finds its rows by a bounded number of keys (from ``conditions``, the key conditions of the
    scans) or by the keys of a join reads the rows found; any other scan reads the whole table."""
    conditions = conditions or KeyConditions()
    rows = size = 0.0
    nodes = [node for plan in plans for node in walk_plan(plan)]
    scans = [
        node for node in nodes if isinstance(node, LogicalScan) and not isinstance(node.table, OWN_TABLES)
    ]
    joined = {
        id(found.node): cardinality.rows(join)
        for join in nodes
        if isinstance(join, LogicalJoin)
        and (found := joins.keys_from_join(join, cardinality, conditions)) is not None
    }
    for scan in scans:
        keys = conditions.of(scan)
        read = table_rows(scan) if keys is None or keys.most is None else cardinality.rows(scan)
        read = min(read, joined.get(id(scan), read))
        if scan.limit is not None and not scan.filters:
            read = min(read, float(scan.limit))
        rows += read
        size += read * sum(column_bytes(column) for column in scan.row())
    return InputSize(rows, size, len({scan.name for scan in scans}))


def held_size(plan: LogicalPlan) -> float:
    """Estimate the bytes of rows that a light job of the optimized ``plan`` holds in memory if all its
    operators hold rows at the same time: groups, one side of each join, and the rows of sorts, windows and
    distinct set operations. Rows that only stream past count as 0."""
    cardinality = Cardinality()
    return sum(_held_by(node, cardinality) for node in walk_plan(plan))


def _held_by(node: LogicalPlan, cardinality: Cardinality) -> float:
    match node:
        case LogicalJoin():
            return min(map(cardinality.size, node.inputs()))
        case LogicalAggregate() | LogicalWindow() | LogicalSort():
            return cardinality.size(node)  # of the groups; of a top-n, the rows that it returns
        case LogicalSetOperation() if node.kind is not SetKind.UNION_ALL:
            return cardinality.size(node.branches[0])
        case _:
            return 0.0


def choose(size: InputSize) -> Choice:
    """Choose the lane and the parallelism (regime) for an input of ``size``: by the number of rows alone.

    >>> print(choose(InputSize(2_000, 80_000, 1)).reason)
    about 2,000 rows of 1 table, inline on the caller's thread
    """
    tables = f"{size.tables} table{'' if size.tables == 1 else 's'}"
    what = f"about {size.rows:,.0f} rows of {tables}" if size.tables else "no table"
    if size.rows <= INLINE_ROWS:
        return Choice(Lane.LIGHT, Regime.INLINE, f"{what}, inline on the caller's thread")
    if size.rows <= SERIAL_ROWS:
        return Choice(Lane.LIGHT, Regime.SERIAL, f"{what}, one instance of each operator")
    return Choice(Lane.LIGHT, Regime.PARALLEL, f"{what}, parallel")
