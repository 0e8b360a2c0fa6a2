"""Binding for tests: a small catalog, and what a query's columns are called and typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pytest

from sqlfront_connectors.arrow import ArrowTable
from sqlfront_planner.binder import bind
from sqlfront_planner.catalog import Catalog, TableEntry, ViewEntry
from sqlfront_planner.check import check
from sqlfront_planner.logical import LogicalPlan
from sqlfront_planner.statements.query_parser import parse_query
from sqlfront_values.errors import Error
from sqlfront_values.types import ddl

Given = Sequence[object] | Mapping[str, object] | None
POINT = pa.struct([("x", pa.int32()), ("y", pa.string())])
COLUMNS = {
    "a": pa.int32(),
    "b": pa.int32(),
    "s": pa.string(),
    "p": pa.bool_(),
    "d": pa.date32(),
    "ts": pa.timestamp("us", tz="UTC"),
    "m": pa.decimal128(12, 2),
    "f": pa.float64(),
    "st": POINT,
}


def catalog() -> Catalog:
    """``t`` with a column of each kind, ``u(a, c)``, and the views ``v`` (of t) and ``loop`` (of itself)."""
    made = Catalog()
    tables = {"t": COLUMNS, "u": {"a": pa.int32(), "c": pa.int64()}}
    for name, columns in tables.items():
        arrays = [pa.array([], kind) for kind in columns.values()]
        made.add(TableEntry(name, ArrowTable(name, pa.table(arrays, names=list(columns)))))
    made.add(ViewEntry("v", "select a as x, s from t where a > 1"))
    made.add(ViewEntry("loop", "select * from loop"))
    return made


def plan(sql: str, parameters: Given = None) -> LogicalPlan:
    """The checked plan of a query over the catalog."""
    return check(bind(parse_query(sql), catalog(), parameters=parameters))


def names(sql: str) -> list[str]:
    """The names of a query's columns."""
    return [column.name for column in plan(sql).row()]


def types(sql: str) -> list[str]:
    """The types of a query's columns, as DDL."""
    return [ddl(column.type) for column in plan(sql).row()]


def failure(sql: str, parameters: Given = None) -> Error:
    """The error that a query ends with."""
    with pytest.raises(Error) as caught:
        plan(sql, parameters)
    return caught.value
