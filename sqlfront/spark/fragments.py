"""The parts of a logical plan that Spark can run alone, as SQL texts. Such a part is called a fragment.

A fragment reads one of Spark's tables, and filters, projects and groups its rows. The columns are called
``c0``, ``c1``, ... in the order of the plan's columns.
"""

from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from sqlfront_connectors.spark.expression_texts import NoText, aggregate_text, expression_text
from sqlfront_connectors.spark.table import SparkTable
from sqlfront_connectors.spark.types import quoted
from sqlfront_planner.expressions.rewriting import is_deterministic
from sqlfront_planner.logical import (
    LogicalAggregate,
    LogicalFilter,
    LogicalPlan,
    LogicalProject,
    LogicalScan,
    map_inputs,
)
from sqlfront_values.expressions import columns_used


class Select(msgspec.Struct, frozen=True):
    """A SELECT over one table for Spark, as SQL texts of the table, its columns and conditions. The
    conditions of ``where`` and of ``having`` are combined by AND. ``keys``: the expressions of GROUP BY;
    None: no grouping; empty: all rows are one group. ``limit``: the greatest number of rows, None = no limit.
    """

    table: str
    columns: tuple[str, ...]
    where: tuple[str, ...] = ()
    keys: tuple[str, ...] | None = None
    having: tuple[str, ...] = ()
    limit: int | None = None

    @property
    def text(self) -> str:
        """The text of the SELECT, with the columns named ``c0``, ``c1``, ...; a SELECT without columns gets
        the constant column ``c0``."""
        columns = (f"{column} AS c{place}" for place, column in enumerate(self.columns))
        clauses = (
            f"SELECT {', '.join(columns) or '1 AS c0'} FROM {self.table}",
            f"WHERE {' AND '.join(self.where)}" if self.where else "",
            f"GROUP BY {', '.join(self.keys)}" if self.keys else "",
            f"HAVING {' AND '.join(self.having)}" if self.having else "",
            "" if self.limit is None else f"LIMIT {self.limit}",
        )
        return " ".join(filter(None, clauses))


def select_of(plan: LogicalPlan) -> Select | None:
    """Return the SELECT by which Spark computes the rows of ``plan``, a plan without parameters; None if the
    plan is more than a filter, projection or aggregation of one table of Spark's."""
    try:
        return _select(plan)
    except NoText:
        return None


def replace_fragments(plan: LogicalPlan, rows: Callable[[LogicalPlan, Select], LogicalPlan]) -> LogicalPlan:
    """Return the plan with each of its largest fragments (parts that Spark can run alone by a SELECT over one
    table) replaced by the plan that ``rows(fragment, select)`` returns; ``select`` is the fragment as a
    SELECT."""
    select = select_of(plan)
    if select is not None:
        return rows(plan, select)
    return map_inputs(plan, lambda child: replace_fragments(child, rows))


def _select(plan: LogicalPlan) -> Select:
    if not all(map(is_deterministic, plan.operands())):
        raise NoText
    match plan:
        case LogicalScan(table=SparkTable() as table):
            names = tuple(map(quoted, table.schema.names))
            where = tuple(expression_text(part, names) for part in plan.filters)
            columns = tuple(names[place] for place in plan.columns)
            return Select(table.reference, columns, where, limit=plan.limit)
        case LogicalFilter(input=child):
            select = _unlimited(_select(child))
            condition = (expression_text(plan.condition, select.columns),)
            if select.keys is None:
                return replace(select, where=select.where + condition)
            return replace(select, having=select.having + condition)
        case LogicalProject(input=child):
            select = _select(child)
            columns = tuple(expression_text(item, select.columns) for item in plan.expressions)
            return replace(select, columns=columns)
        case LogicalAggregate(input=child) if all(map(columns_used, plan.keys)):
            select = _unlimited(_select(child))
            if select.keys is not None:
                raise NoText
            keys = tuple(_key_text(expression_text(key, select.columns)) for key in plan.keys)
            texts = (aggregate_text(call, select.columns) for call in plan.calls)
            return replace(select, columns=(*keys, *texts), keys=keys)
        case _:
            raise NoText


def _key_text(text: str) -> str:
    """Return the text of a key for GROUP BY. A bare number would be the position of a column, so that it gets
    a CAST."""
    return f"CAST({text} AS INT)" if text.removeprefix("-").isdecimal() else text


def _unlimited(select: Select) -> Select:
    if select.limit is not None:
        raise NoText
    return select
