"""Tables of which only schema and statistics are known: enough for planning, nothing to read."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal

import pyarrow as pa

from sqlfront_connectors.base import (
    ColumnStatistics,
    Location,
    Partitioning,
    ScanPlan,
    ScanRequest,
    TableStatistics,
)
from sqlfront_engine.processors.sources.values import Values
from sqlfront_planner.catalog import Catalog, TableEntry
from sqlfront_values.expressions import Expr


class KnownSnapshot:
    """Statistics, and a source without rows; ``asked`` are the requests that it was made for."""

    version = 0

    def __init__(
        self, schema: pa.Schema, statistics: TableStatistics, location: Location, placed: Partitioning | None
    ) -> None:
        self.schema = schema
        self.statistics = statistics
        self.location = location
        self.placed = placed
        self.asked: list[ScanRequest] = []

    def exact_filters(self, filters: tuple[Expr, ...]) -> tuple[Expr, ...]:
        return ()

    def scan(self, request: ScanRequest) -> ScanPlan:
        self.asked.append(request)
        fields = [self.schema.field(ordinal) for ordinal in request.columns]
        return ScanPlan(Values(pa.schema(fields), ()), {}, self.location, self.placed)


class KnownTable:
    """A table that has nothing but what the planner looks at."""

    format = "known"
    partitioning = None

    def __init__(
        self,
        schema: pa.Schema,
        rows: int,
        columns: Mapping[str, ColumnStatistics],
        location: Location = Location.HERE,
        placed: Partitioning | None = None,
    ) -> None:
        self.schema = schema
        self.known = KnownSnapshot(schema, TableStatistics(rows, None, columns), location, placed)

    def snapshot(self) -> KnownSnapshot:
        return self.known

    def drop(self) -> None:
        raise AssertionError("nobody drops it")


MONEY = pa.decimal128(15, 2)
#: TPC-H's tables: rows at scale 1, then each column's type and number of different values (0 = as many as
#: rows).
TPCH: dict[str, tuple[int, str]] = {
    "region": (
        5,
        """
        r_regionkey:bigint:0 r_name:string:0 r_comment:string:0
        """,
    ),
    "nation": (
        25,
        """
        n_nationkey:bigint:0 n_name:string:0 n_regionkey:bigint:5 n_comment:string:0
        """,
    ),
    "supplier": (
        10_000,
        """
        s_suppkey:bigint:0 s_name:string:0 s_address:string:0 s_nationkey:bigint:25 s_phone:string:0
        s_acctbal:money:9955 s_comment:string:0
        """,
    ),
    "customer": (
        150_000,
        """
        c_custkey:bigint:0 c_name:string:0 c_address:string:0 c_nationkey:bigint:25 c_phone:string:0
        c_acctbal:money:140000 c_mktsegment:string:5 c_comment:string:0
        """,
    ),
    "part": (
        200_000,
        """
        p_partkey:bigint:0 p_name:string:0 p_mfgr:string:5 p_brand:string:25 p_type:string:150
        p_size:int:50 p_container:string:40 p_retailprice:money:20000 p_comment:string:130000
        """,
    ),
    "partsupp": (
        800_000,
        """
        ps_partkey:bigint:200000 ps_suppkey:bigint:10000 ps_availqty:int:9999 ps_supplycost:money:99901
        ps_comment:string:0
        """,
    ),
    "orders": (
        1_500_000,
        """
        o_orderkey:bigint:0 o_custkey:bigint:100000 o_orderstatus:string:3 o_totalprice:money:1400000
        o_orderdate:date:2406 o_orderpriority:string:5 o_clerk:string:1000 o_shippriority:int:1
        o_comment:string:0
        """,
    ),
    "lineitem": (
        6_001_215,
        """
        l_orderkey:bigint:1500000 l_partkey:bigint:200000 l_suppkey:bigint:10000 l_linenumber:int:7
        l_quantity:money:50 l_extendedprice:money:900000 l_discount:money:11 l_tax:money:9
        l_returnflag:string:3 l_linestatus:string:2 l_shipdate:date:2526 l_commitdate:date:2466
        l_receiptdate:date:2555 l_shipinstruct:string:4 l_shipmode:string:7 l_comment:string:4500000
        """,
    ),
}
TYPES = {"bigint": pa.int64(), "int": pa.int32(), "string": pa.string(), "date": pa.date32(), "money": MONEY}
DATES = (date(1992, 1, 1), date(1998, 12, 1))
BOUNDS: dict[str, tuple[object, object]] = {
    "l_quantity": (Decimal(1), Decimal(50)),
    "l_discount": (Decimal(0), Decimal("0.10")),
    "p_size": (1, 50),
}


def known_table(
    rows: int, columns: str, location: Location = Location.HERE, placed: Partitioning | None = None
) -> KnownTable:
    """A table of ``name:type:different values`` for each column."""
    fields, statistics = [], {}
    for name, kind, distinct in (column.split(":") for column in columns.split()):
        fields.append((name, TYPES[kind]))
        low, high = BOUNDS.get(name, DATES if kind == "date" else (None, None))
        statistics[name] = ColumnStatistics(int(distinct) or rows, 0, low, high)
    return KnownTable(pa.schema(fields), rows, statistics, location, placed)


def known_catalog(tables: Mapping[str, tuple[int, str]]) -> Catalog:
    """A catalog of such tables."""
    catalog = Catalog()
    for name, (rows, columns) in tables.items():
        catalog.add(TableEntry(name, known_table(rows, columns)))
    return catalog
