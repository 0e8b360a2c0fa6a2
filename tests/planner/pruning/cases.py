"""Conditions on tables' keys, and what the optimizer leaves of them, for tests of pruning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import pyarrow as pa

from sqlfront_connectors.base import Partitioning
from sqlfront_connectors.memory.table import MemoryTable
from sqlfront_planner.binder import Arguments, BindSettings, bind
from sqlfront_planner.catalog import Catalog, TableEntry
from sqlfront_planner.logical import LogicalScan, walk_plan
from sqlfront_planner.optimizer import optimize
from sqlfront_planner.pruning import MOST_KEYS
from sqlfront_planner.pruning.analysis import key_condition
from sqlfront_planner.pruning.key_condition import KeyCondition
from sqlfront_planner.run_values import RunValues
from sqlfront_planner.statements.query_parser import parse_query
from sqlfront_values.expressions import Expr, Literal, Parameter, RunValue
from sqlfront_values.settings import Settings
from sqlfront_values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    decimal,
)

#: A column of every kind, named for its type, and one more that is never a key.
SCHEMA = pa.schema(
    {
        "i": INT,
        "j": INT,
        "l": BIGINT,
        "h": SMALLINT,
        "b": TINYINT,
        "s": STRING,
        "d": DATE,
        "ts": TIMESTAMP,
        "ntz": TIMESTAMP_NTZ,
        "dec": decimal(10, 2),
        "wide": decimal(30, 4),
        "f": FLOAT,
        "g": DOUBLE,
        "bo": BOOLEAN,
        "bin": BINARY,
        "v": INT,
    }
)


@cache
def catalog(*keys: str) -> Catalog:
    """``t``, clustered by these columns, and ``u`` with the same columns."""
    made = Catalog()
    placed = Partitioning(tuple(SCHEMA.names.index(name) for name in keys), 31)
    made.add(TableEntry("t", MemoryTable("t", SCHEMA, placed)))
    made.add(TableEntry("u", MemoryTable("u", SCHEMA)))
    return made


class Said:
    """What a condition on ``t`` says of its key. ``filters`` are what is left of it in the scan."""

    def __init__(
        self,
        where: str,
        keys: Sequence[str],
        arguments: Sequence[object] = (),
        *,
        limit: int = MOST_KEYS,
        zone: str = "UTC",
    ) -> None:
        self.arguments = Arguments.of(arguments, zone)
        self.settings = Settings(zone)
        query = parse_query(f"select * from t where {where}")
        plan = optimize(bind(query, catalog(*keys), BindSettings(zone), self.arguments), self.settings)
        scans = [node for node in walk_plan(plan) if isinstance(node, LogicalScan) and node.name == "t"]
        self.filters = scans[0].filters if scans else ()
        self.is_empty = not scans
        columns = tuple(SCHEMA.names.index(name) for name in keys)
        types = tuple(SCHEMA.field(name).type for name in keys)
        self.condition: KeyCondition | None = key_condition(
            columns, types, self.filters, self.settings, limit
        )

    def keys(self) -> tuple[tuple[object, ...], ...] | None:
        """The keys of a run with the arguments."""
        if self.is_empty:
            return ()
        return None if self.condition is None else self.condition.keys(self.literal())

    def literal(self) -> Callable[[Expr], Expr]:
        """What a plan's binding does."""
        values = RunValues(self.settings)

        def bound(item: Expr) -> Expr:
            if isinstance(item, Parameter):
                return Literal(item.type, self.arguments.values[item.index])
            return values.literal(item) if isinstance(item, RunValue) else item

        return bound

    @property
    def is_exact(self) -> bool:
        """Whether the keys say it all."""
        exact = () if self.condition is None else self.condition.exact
        return self.is_empty or all(any(part is done for done in exact) for part in self.filters)
