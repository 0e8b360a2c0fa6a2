"""Helpers for the examples and tests of optimizer rules: tables, and functions that show the effect of a
rule."""

from collections.abc import Sequence

import pyarrow as pa

from sqlfront_connectors.arrow import ArrowTable
from sqlfront_planner.binder import BindSettings, bind
from sqlfront_planner.catalog import Catalog, TableEntry
from sqlfront_planner.check import check
from sqlfront_planner.explain.plan_text import plan_text
from sqlfront_planner.logical import LogicalPlan
from sqlfront_planner.optimizer import Rewrite
from sqlfront_planner.statements.query_parser import parse_query
from sqlfront_values.settings import Settings


def example_catalog() -> Catalog:
    """Make a catalog with the tables ``t(a int, b int)`` and ``u(a int, c int)``, a few rows each, with
    nulls."""
    catalog = Catalog()
    columns: dict[str, dict[str, Sequence[int | None]]] = {
        "t": {"a": [1, 2, 2, None, 5], "b": [10, 20, 21, 40, None]},
        "u": {"a": [2, 2, 3, None], "c": [7, None, 9, 1]},
    }
    for name, data in columns.items():
        arrays = [pa.array(list(values), pa.int32()) for values in data.values()]
        catalog.add(TableEntry(name, ArrowTable(name, pa.table(arrays, names=list(data)))))
    return catalog


def bound(sql: str, catalog: Catalog | None = None) -> LogicalPlan:
    """Return the bound plan of a query, not yet optimized. ``catalog`` None: the query reads the tables of
    :func:`example_catalog`. The session takes TIME (``spark.sql.timeType.enabled``)."""
    return check(bind(parse_query(sql), catalog or example_catalog(), BindSettings(takes_time=True)))


def example(rule: Rewrite, sql: str) -> str:
    """Bind a query over the tables of :func:`example_catalog`, apply one rule, and return the text of the
    rewritten plan."""
    return plan_text(check(rule(bound(sql), Settings())))
