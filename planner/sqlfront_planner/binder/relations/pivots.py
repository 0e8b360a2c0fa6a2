"""Binding of PIVOT and UNPIVOT, which follow a relation of FROM or a join.

PIVOT groups the rows by the columns that it doesn't name, and has a column per value of the pivot column and
aggregate. As in Spark there are two plans. If all aggregates are numbers or booleans, the rows are first
grouped by the pivot column, too: a group without rows for a value then has a null, even for ``count(*)``.
Otherwise each aggregate is computed per value, over arguments that are null in the rows of other values.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import pyarrow as pa
from sqlglot import exp

from sqlfront_planner.binder.collected_calls import AggregateOutput, Aggregates
from sqlfront_planner.binder.expressions.casts import can_cast
from sqlfront_planner.binder.expressions.expression_binder import Clause, ExpressionBinder
from sqlfront_planner.binder.groups import group_rows
from sqlfront_planner.binder.groups.group_by import Grouping
from sqlfront_planner.binder.names import shown_names
from sqlfront_planner.binder.protocols import Queries
from sqlfront_planner.binder.relations import unpivots
from sqlfront_planner.binder.scope import Relation, ScopeColumn, named
from sqlfront_planner.binder.time_windows import sessions
from sqlfront_planner.binder.trees.handlers import (
    failure,
    refuse_unknown,
    span,
    unparenthesized,
    unsupported,
)
from sqlfront_planner.logical import (
    LogicalAggregate,
    LogicalPlan,
    LogicalProject,
    OuterColumn,
    Subquery,
    call_operands,
)
from sqlfront_planner.types import is_orderable
from sqlfront_values import types
from sqlfront_values.errors import Error, ProgrammingError
from sqlfront_values.evaluate import evaluate_scalar
from sqlfront_values.expressions import (
    AggregateCall,
    Call,
    Case,
    Cast,
    Column,
    Expr,
    Literal,
    columns_used,
    connected,
    transform,
    walk,
)
from sqlfront_values.types import BINARY, BOOLEAN, INT, STRING

#: What sqlglot notes for other dialects.
_IGNORED: Final = frozenset({"columns", "pivot_column_naming"})
_KNOWN: Final = frozenset({"expressions", "fields", "alias", "unpivot"}) | _IGNORED
#: Aggregates whose first argument alone is a value, and which then ignore nulls.
_EDGES: Final = frozenset({"first", "last"})
#: Aggregates whose arguments may be null in the rows of other values: they ignore nulls.
_IGNORE_NULLS: Final = frozenset(
    {"avg", "collect_list", "collect_set", "count", "max", "max_by", "min", "min_by", "sum"}
)


class _Value(NamedTuple):
    """A value of PIVOT's IN list: a literal for each pivot column, and the name of the value's columns."""

    literals: tuple[Literal, ...]
    name: str


class _Item(NamedTuple):
    """An aggregate expression of PIVOT, with stand-ins for the values of its aggregate calls; its name, the
    alias or Spark's text; and its node."""

    expression: Expr
    name: str
    node: exp.Expr


def with_pivots(queries: Queries, source: Relation, node: exp.Expr) -> Relation:
    """Return ``source`` after the PIVOT and UNPIVOT clauses of ``node``, in their order."""
    for pivot in node.args.get("pivots") or []:
        bind = unpivots.unpivoted if pivot.args.get("unpivot") else _pivoted
        source = _aliased(bind(queries, source, pivot), pivot)
    return source


def _aliased(source: Relation, node: exp.Expr) -> Relation:
    alias = node.args.get("alias")
    if alias is None:
        return source
    refuse_unknown(alias, frozenset({"this"}))
    qualifier = (alias.this.name.lower(),)
    columns = (ScopeColumn(column.name, column.expression, qualifier) for column in source.columns)
    return Relation(source.plan, tuple(columns))


def _pivoted(queries: Queries, source: Relation, node: exp.Pivot) -> Relation:
    """Return the relation after PIVOT. Raises the errors of :func:`_value`, :func:`_check_pivot_columns` and
    :func:`_check_item`."""
    refuse_unknown(node, _KNOWN)
    source = unpivots.plain(source, node)
    aggregates = Aggregates()
    binder = ExpressionBinder(queries, source.scope(), Clause.SELECT, aggregates)
    field = node.args["fields"][0]
    operand = unparenthesized(field.this)
    pivots = binder.bind_all(operand.expressions if isinstance(operand, exp.Tuple) else [operand])
    items = [_item(binder, part) for part in node.expressions]
    _check_pivot_columns(pivots, operand, binder)
    for item in items:
        _check_item(item, binder)
    values = [_value(binder, part, pivots, operand) for part in field.expressions]
    read = _columns_read([*pivots, *(part for call in aggregates.calls for part in call_operands(call))])
    kept = [column for column in source.columns if not read & columns_used(column.expression)]
    if not all(is_orderable(column.expression.type) for column in kept):
        raise unsupported("PIVOT of a relation with a map", node)
    pivot = _Pivot(source.plan, pivots, [column.expression for column in kept], items, values, aggregates)
    if sessions.session_keys(source.plan, pivot.kept):
        raise unsupported("PIVOT beside a column of sessions", node)
    plan = pivot.by_two_aggregations(node) if pivot.is_plain else pivot.by_conditions(node)
    names = [
        value.name if len(items) == 1 else f"{value.name}_{item.name}" for value in values for item in items
    ]
    row = plan.row()
    made = [ScopeColumn(name, named(item, name)) for name, item in zip(names, row[len(kept) :], strict=True)]
    grouped = [
        ScopeColumn(column.name, named(item, column.name), column.qualifier)
        for column, item in zip(kept, row, strict=False)
    ]
    return Relation(plan, (*grouped, *made))


def _columns_read(expressions: Sequence[Expr]) -> frozenset[int]:
    return frozenset().union(*map(columns_used, expressions))


# ---- the parts of the clause


def _item(binder: ExpressionBinder, node: exp.Expr) -> _Item:
    inner = node.this if isinstance(node, exp.Alias) else node
    name = node.alias if isinstance(node, exp.Alias) else binder.name(inner)
    return _Item(binder.bind(inner), name, inner)


def _check_item(item: _Item, binder: ExpressionBinder) -> None:
    """Raise Spark's nameless error for a column outside of the aggregate functions; NotSupportedError for
    subqueries."""
    for part in walk(item.expression):
        if isinstance(part, Subquery | OuterColumn):
            raise unsupported("A subquery in PIVOT", item.node)
        if isinstance(part, Column):
            raise ProgrammingError(
                f"Aggregate expression required for pivot, but '{part.name}' did not appear in any aggregate "
                "function.",
                position=span(item.node),
            )


def _check_pivot_columns(pivots: Sequence[Expr], node: exp.Expr, binder: ExpressionBinder) -> None:
    """Raise INCOMPARABLE_PIVOT_COLUMN for a map as the pivot column, and NotSupportedError for types whose
    values Spark's PIVOT compares in another way than SQL: bytes by identity, and nested types."""
    for pivot in pivots:
        if not is_orderable(pivot.type):
            raise failure(
                "INCOMPARABLE_PIVOT_COLUMN",
                f"Invalid pivot column {shown_names.quoted((binder.name(node),))}. Pivot columns must be "
                "comparable.",
                node,
            )
        if pivot.type == BINARY or pa.types.is_nested(pivot.type):
            raise unsupported(f"PIVOT by {types.sql_name(pivot.type)}", node)


def _value(binder: ExpressionBinder, node: exp.Expr, pivots: Sequence[Expr], operand: exp.Expr) -> _Value:
    """Bind an item of IN. Raises NON_LITERAL_PIVOT_VALUES, PIVOT_VALUE_DATA_TYPE_MISMATCH, and the errors of
    a cast to the pivot column's type."""
    alias = node.args["alias"].name if isinstance(node, exp.PivotAlias) else None
    inner = node.this if isinstance(node, exp.PivotAlias) else node
    parts = inner.expressions if isinstance(inner, exp.Tuple) else [inner]
    known = [_constant(binder, part) for part in parts]
    if isinstance(inner, exp.Tuple) != isinstance(operand, exp.Tuple) or len(known) != len(pivots):
        raise _mismatch(binder, inner, known, pivots, operand)
    for value, pivot in zip(known, pivots, strict=True):
        # Spark allows casts here that ANSI mode doesn't know, and in structs it asks for nullability.
        is_same = value.type == pivot.type
        if not is_same and (isinstance(inner, exp.Tuple) or not can_cast(value.type, pivot.type)):
            raise unsupported(
                f"A PIVOT value of {types.sql_name(value.type)} for {types.sql_name(pivot.type)}", node
            )
    settings = binder.context.settings.evaluation
    literals = tuple(
        Literal(pivot.type, evaluate_scalar(Cast(pivot.type, value), settings))
        for value, pivot in zip(known, pivots, strict=True)
    )
    for literal in literals:
        if isinstance(literal.value, float) and (literal.value == 0 or literal.value != literal.value):
            raise unsupported("PIVOT by the floating-point number 0 or NaN", node)
    if alias is None:
        texts = [evaluate_scalar(Cast(STRING, value), settings) for value in known]
        shown = ["null" if text is None else str(text) for text in texts]
        alias = f"{{{', '.join(shown)}}}" if isinstance(inner, exp.Tuple) else shown[0]
    return _Value(literals, alias)


def _constant(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    bound = binder.bind(node)
    known = None
    if not any(isinstance(part, AggregateOutput | Subquery) for part in walk(bound)):
        known = binder.context.constant(bound, node)
    if known is None:
        raise failure(
            "NON_LITERAL_PIVOT_VALUES",
            f'Literal expressions required for pivot values, found "{binder.name(node)}".',
            node,
        )
    return known


def _mismatch(
    binder: ExpressionBinder, node: exp.Expr, known: Sequence[Expr], pivots: Sequence[Expr], operand: exp.Expr
) -> Error:
    value = types.ddl(known[0].type)
    if isinstance(node, exp.Tuple):
        fields = (f"col{place}:{types.ddl(part.type)}" for place, part in enumerate(known, 1))
        value = f"struct<{','.join(fields)}>"
    column = types.ddl(pivots[0].type)
    if isinstance(operand, exp.Tuple):
        names = (part.name for part in operand.expressions)
        pairs = zip(names, pivots, strict=True)
        column = f"struct<{','.join(f'{name}:{types.ddl(part.type)}' for name, part in pairs)}>"
    return failure(
        "PIVOT_VALUE_DATA_TYPE_MISMATCH",
        f"Invalid pivot value '{binder.name(node).strip(chr(39))}': value data type {value} does not match "
        f"pivot column data type {column}.",
        node,
    )


# ---- the plans


class _Pivot(NamedTuple):
    """A bound PIVOT: the plan of its relation, the pivot columns, the columns by which it groups, and its
    aggregate expressions and values."""

    plan: LogicalPlan
    pivots: list[Expr]
    kept: list[Expr]
    items: list[_Item]
    values: list[_Value]
    aggregates: Aggregates

    @property
    def is_plain(self) -> bool:
        """Whether all aggregate expressions are numbers or booleans."""
        kinds = [item.expression.type for item in self.items]
        return all(types.is_numeric(kind) or kind == BOOLEAN for kind in kinds)

    def by_two_aggregations(self, node: exp.Expr) -> LogicalPlan:
        """Return the plan that first groups by the pivot columns, too: a group then has one row at most for
        each value. ``node``: the clause in the text."""
        keys = (*self.kept, *self.pivots)
        grouping = Grouping(tuple(dict.fromkeys(keys)))
        plan, row = group_rows.grouped_plan(self.plan, grouping, self.aggregates, node, grouped=True)
        kept = tuple(row.over(key, self.items[0].node) for key in self.kept)
        pivots = [row.over(pivot, self.items[0].node) for pivot in self.pivots]
        items = [row.over(item.expression, item.node) for item in self.items]
        found = [_where(_is(pivots, value), item) for value in self.values for item in items]
        calls = tuple(AggregateCall("max", (item,), item.type) for item in found)
        names = (*(key.name for key in kept if isinstance(key, Column)), *("max" for _ in calls))
        return LogicalAggregate(plan, kept, calls, names)

    def by_conditions(self, node: exp.Expr) -> LogicalPlan:
        """Return the plan that computes each aggregate once per value, over arguments that are null in the
        rows of other values."""
        calls: list[AggregateCall] = []
        count = len(self.aggregates.calls)
        for value in self.values:
            condition = _is(self.pivots, value)
            calls += [_of_value(call, condition, node) for call in self.aggregates.calls]
        names = (*(key.name for key in self.kept if isinstance(key, Column)), *("call" for _ in calls))
        groups = LogicalAggregate(self.plan, tuple(self.kept), tuple(calls), names)
        row, width = groups.row(), len(self.kept)
        shown: list[Expr] = [*row[:width]]
        for place in range(len(self.values)):
            own = row[width + place * count : width + (place + 1) * count]
            for item in self.items:
                shown.append(transform(item.expression, lambda part, own=own: _placed(part, own)))  # type: ignore[misc]
        return LogicalProject(groups, tuple(shown), tuple(f"c{place}" for place in range(len(shown))))


def _placed(part: Expr, columns: Sequence[Expr]) -> Expr:
    return columns[part.index] if isinstance(part, AggregateOutput) else part


def _is(pivots: Sequence[Expr], value: _Value) -> Expr:
    """Return the condition that the pivot columns have the value; null equals null."""
    pairs = zip(pivots, value.literals, strict=True)
    return connected("and", [Call(BOOLEAN, "equal_null_safe", pair) for pair in pairs])


def _where(condition: Expr, value: Expr) -> Expr:
    return Case(value.type, ((condition, value),), Literal(value.type, None))


def _of_value(call: AggregateCall, condition: Expr, node: exp.Expr) -> AggregateCall:
    """Return the call over arguments that are null unless the condition is true. Raises NotSupportedError for
    functions that don't ignore nulls."""
    if call.function in _EDGES:
        first, ignored = _where(condition, call.arguments[0]), Literal(BOOLEAN, True)
        return AggregateCall(call.function, (first, ignored), call.type, call.distinct, call.filter)
    if call.function not in _IGNORE_NULLS:
        raise unsupported(f"The function {call.function} in PIVOT beside values that are no numbers", node)
    given = call.arguments or (Literal(INT, 1),)
    arguments = tuple(_where(condition, argument) for argument in given)
    return AggregateCall(call.function, arguments, call.type, call.distinct, call.filter)
