"""Which way a query goes, and why."""

from collections.abc import Iterable
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Final

import msgspec

from sqlfront_planner.logical import Join, LogicalPlan, Scan, walk_plan
from sqlfront_planner.shared_rows import SharedRows
from sqlfront_planner.statistics.cardinality import Cardinality, column_bytes, table_rows
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    from sqlfront_planner.pruning import joins
    from sqlfront_planner.pruning.scans import KeyConditions
else:
    joins = lazy_module("sqlfront_planner.pruning.joins")

#: Up to that many rows of input a query runs on the caller's thread.
INLINE_ROWS: Final = 10_000
#: Up to that many rows of input a second instance costs more than it brings.
SERIAL_ROWS: Final = 100_000


class Lane(StrEnum):
    """The ways that a query can go."""

    DIRECT = "direct"
    """Rows by their key, projected and filtered; no job."""
    LIGHT = "light"
    """A light job on the DAG engine."""
    MIXED = "mixed"
    """A light job over rows that Spark has filtered, projected and grouped before."""
    SPARK = "spark"
    """Spark runs the text."""


#: With fewer workers than that, sending rows to the instance of their key costs more than the instances save:
#: measured on TPC-H at scale 1 with two workers, half of the CPU time of the queries that did it.
EXCHANGE_WORKERS: Final = 4


#: Over several members, inputs of up to that many estimated rows are collected by the coordinator instead of
#: being exchanged.
COLLECT_ROWS: Final = 20_000


class Regime(Enum):
    """How much of the machine a light job takes."""

    INLINE = "inline"
    """Every operator once, on the caller's thread."""
    SERIAL = "serial"
    """Every operator once, on the workers."""
    PARALLEL = "parallel"
    """Operators in several instances; with many workers rows go to the instance of their key, with few all
    that belongs together is collected by one."""


class InputSize(msgspec.Struct, frozen=True):
    """The estimated input of a query: what its scans read, not what the tables hold."""

    rows: float
    size: float
    tables: int


class Choice(msgspec.Struct, frozen=True):
    """A lane and the reason for it, in words that EXPLAIN shows."""

    lane: Lane
    regime: Regime
    reason: str


def input_size(
    plans: Iterable[LogicalPlan], cardinality: Cardinality, conditions: "KeyConditions | None" = None
) -> InputSize:
    """What the scans of a query's plans read: a scan by so many keys (``conditions`` are those of the scans),
    or by those of a join's other side, reads what it finds, any other the whole table."""
    conditions = conditions or KeyConditions()
    rows = size = 0.0
    nodes = [node for plan in plans for node in walk_plan(plan)]
    scans = [node for node in nodes if isinstance(node, Scan) and not isinstance(node.table, SharedRows)]
    joined = {
        id(found.node): cardinality.rows(join)
        for join in nodes
        if isinstance(join, Join)
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


def choose(size: InputSize) -> Choice:
    """The lane and regime for an input of that size.

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
