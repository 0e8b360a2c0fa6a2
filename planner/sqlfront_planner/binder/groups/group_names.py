"""The names that HAVING and ORDER BY can read in a grouped query.

Spark looks names up in the plan below the clause. For HAVING that plan is the aggregation. For ORDER BY that
plan is the aggregation or, if there are window functions or if HAVING needs more than the select list, a
projection of the aggregation. ORDER BY finds the select list's names first, even inside of aggregate
functions, which then can't read them. Over a projection ORDER BY finds no aggregate functions, and of the
groups only the keys that are columns.
"""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace
from sqlglot import exp

from sqlfront_planner.binder.collected_calls import (
    AggregateOutput,
    Aggregates,
    GroupingOutput,
    SelectItem,
    WindowOutput,
)
from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder, OutputNames
from sqlfront_planner.binder.groups.group_by import Grouping
from sqlfront_planner.binder.lateral_aliases import written_out
from sqlfront_planner.binder.sorting import OrderItem, bind_order
from sqlfront_planner.binder.trees.handlers import failure
from sqlfront_planner.expressions.same_meaning import is_same
from sqlfront_values.errors import Error
from sqlfront_values.expressions import AggregateCall, Cast, Column, Expr, Literal, walk


class BoundSelectList(msgspec.Struct, frozen=True):
    """The bound select list, its aggregate calls, whether it has window functions, and the bound condition of
    HAVING (None: there is none, or it isn't bound yet)."""

    items: Sequence[SelectItem]
    aggregates: Aggregates
    has_windows: bool
    having: Expr | None

    @property
    def uses_alias(self) -> bool:
        """True if a column of the select list reads another column of the list."""
        return any(item.uses_alias for item in self.items)

    def outputs(self) -> dict[str, list[Expr]]:
        """Return the select list's expressions by lower-case name; a name has several if columns share it."""
        outputs: dict[str, list[Expr]] = {}
        for item in self.items:
            outputs.setdefault(item.name.lower(), []).append(item.expression)
        return outputs

    def columns(self) -> tuple[Expr, ...]:
        """Return the input's columns that the select list contains under their input names."""
        return tuple([item.expression for item in self.items if item.is_column])

    def aliases(self) -> frozenset[str]:
        """Return, in lower case, the names that exactly one column of the select list has, except names of
        input columns that the list contains under their input names."""
        names = self.outputs()
        found = [item.name.lower() for item in self.items if not item.is_column]
        return frozenset([name for name in found if len(names[name]) == 1])

    def before_windows(self) -> dict[str, list[Expr]]:
        """Return the select list's expressions that read no window function's result, by lower-case name."""
        columns = [item.expression for item in self.items]
        kept: dict[str, list[Expr]] = {}
        for name, found in self.outputs().items():
            before = [column for column in found if not _has(WindowOutput, written_out(column, columns))]
            if before:
                kept[name] = before
        return kept


def in_having(
    selected: BoundSelectList, binder: ExpressionBinder, node: exp.Expr, grouping: Grouping | None
) -> tuple[OutputNames, bool]:
    """Return the names that HAVING sees, and whether HAVING is evaluated after the window functions.

    In a query with window functions, the select list's names take precedence, even inside of aggregate
    functions. Over grouping sets Spark treats a HAVING with aggregate functions as a part of the select list;
    such a HAVING sees the select list's names only. Any other HAVING over grouping sets is evaluated after
    the window functions. It, too, sees the select list's names only if Spark has to cast its operands, since
    Spark doesn't recognize the groups' keys after a cast.

    Raises ProgrammingError: UNSUPPORTED_FEATURE.LATERAL_COLUMN_ALIAS_IN_AGGREGATE_WITH_WINDOW_AND_HAVING.
    """
    if selected.has_windows and selected.uses_alias:
        raise failure(
            "UNSUPPORTED_FEATURE.LATERAL_COLUMN_ALIAS_IN_AGGREGATE_WITH_WINDOW_AND_HAVING",
            "The feature is not supported: Referencing a lateral column alias in the aggregate query both "
            "with window expressions and with having clause.",
            node,
        )
    aliases = selected.aliases()
    names = OutputNames(
        selected.outputs(),
        keys=() if grouping is None else grouping.keys,
        aliases=aliases,
    )
    has_sets = grouping is not None and grouping.sets is not None
    if selected.has_windows and (grouping is not None or selected.aggregates.used):
        names = replace(names, expressions=selected.before_windows())
        if not has_sets:
            hidden = frozenset([name for name in aliases if name in names.expressions])
            return replace(names, keys=(), hidden=hidden), False
    if not has_sets:
        return names, False
    columns = selected.columns()
    names = replace(names, groupings=() if selected.has_windows else columns)
    closed = replace(names, keys=columns, is_closed=True)
    if has_calls(binder, node):
        return closed, False
    return (closed if _needs_casts(binder, names, node) else names), selected.has_windows


def in_order(selected: BoundSelectList, grouping: Grouping) -> OutputNames:
    """Return the names that ORDER BY sees over groups: the select list's names, which take precedence, and
    the columns of the groups that Spark finds in the plan below ORDER BY. That plan is the aggregation or, in
    queries with window functions or with some forms of HAVING, a projection of it, in which Spark finds no
    aggregate functions, and of the groups only keys."""
    is_projected = selected.has_windows or _having_adds(selected)
    columns, aliases = selected.columns(), selected.aliases()
    known = [key for key in grouping.keys if isinstance(key, Column)]
    keys: tuple[Expr, ...] | None = grouping.keys if is_projected else None
    if _has(GroupingOutput, selected.having):
        keys = columns
    elif not is_projected:
        renamed = [item.expression for item in selected.items if item.expression not in columns]
        known = [key for key in known if key not in renamed]
    return OutputNames(
        selected.outputs(),
        keys=keys,
        grouped=not is_projected,
        hidden=aliases,
        aliases=aliases,
        groupings=None if grouping.sets is None else tuple(known),
    )


def refuse_known_calls(
    selected: BoundSelectList, grouping: Grouping, binder: ExpressionBinder, order: exp.Expr
) -> None:
    """Raise UNSUPPORTED_EXPR_FOR_OPERATOR if ORDER BY has aggregate functions while columns of the select
    list read aliases of the list. Spark accepts the combination with HAVING, with grouping sets, or if ORDER
    BY has a name that isn't in the select list; then nothing is raised."""
    names = binder.output
    if names is None or not selected.uses_alias or selected.having is not None or grouping.sets is not None:
        return
    calls = Aggregates()
    known = replace(binder, output=replace(names, keys=selected.columns()), aggregates=calls)
    try:
        bind_order(known, order, [item.expression for item in selected.items])
    except Error:
        return
    if calls.calls:
        raise failure(
            "UNSUPPORTED_EXPR_FOR_OPERATOR",
            "An aggregate function in ORDER BY beside an alias that is read in the select list.",
            order,
        )


def refuse_grouping_id(selected: BoundSelectList, order: Sequence[OrderItem]) -> None:
    """Raise MISSING_ATTRIBUTES if ORDER BY has a ``grouping_id()`` that isn't in the select list while HAVING
    has ``grouping``: Spark has dropped the value before it sorts."""
    if not _has(GroupingOutput, selected.having):
        return
    outputs = [item.expression for item in selected.items]
    for item in order:
        for part in walk(item.expression):
            if not isinstance(part, GroupingOutput) or part in outputs:
                continue
            if not selected.aggregates.groupings[part.index].arguments:
                raise failure(
                    "MISSING_ATTRIBUTES.RESOLVED_ATTRIBUTE_MISSING_FROM_INPUT",
                    "grouping_id() in ORDER BY has to be in the select list beside grouping in HAVING.",
                    item.node,
                )


def has_calls(binder: ExpressionBinder, node: exp.Expr) -> bool:
    """Return whether an expression has aggregate functions of its own; functions in the definitions of the
    names that it reads don't count."""
    try:
        replace(binder, aggregates=None, aliases_used=[]).bind(node)
    except Error:
        return True
    return False


def _needs_casts(binder: ExpressionBinder, names: OutputNames, node: exp.Expr) -> bool:
    """Return whether Spark casts operands of the expression implicitly, if its names are found by ``names``;
    False if the expression can't be bound."""
    try:
        bound = replace(binder, output=names, aggregates=None, windows=None, aliases_used=[]).bind(node)
    except Error:
        return False
    written = sum(1 for _ in node.find_all(exp.TryCast))
    return sum(isinstance(part, Cast) for part in walk(bound)) > written


def _having_adds(selected: BoundSelectList) -> bool:
    """Return whether HAVING reads a key or an aggregate function's value that no column of the select list is
    or contains."""
    known = [_as_counted(item.expression, selected.aggregates.calls) for item in selected.items]
    waiting = [] if selected.having is None else [selected.having]
    while waiting:
        expression = _as_counted(waiting.pop(), selected.aggregates.calls)
        if any(is_same(item, expression) for item in known):
            continue
        if isinstance(expression, AggregateOutput | Column):
            return True
        waiting += expression.children()
    return False


def _as_counted(expression: Expr, calls: Sequence[AggregateCall]) -> Expr:
    """Return the stand-in of ``count(*)`` if the expression is the stand-in of a call such as ``count(1)``
    and ``calls`` has both, since Spark treats them as one call; return any other expression unchanged."""
    if not isinstance(expression, AggregateOutput):
        return expression
    call = calls[expression.index]
    if call.function != "count" or call.distinct or call.filter is not None:
        return expression
    for index, other in enumerate(calls):
        if other == AggregateCall("count", (), call.type) and all(map(_is_value, call.arguments)):
            return AggregateOutput(call.type, index)
    return expression


def _is_value(expression: Expr) -> bool:
    return isinstance(expression, Literal) and expression.value is not None


def _has(kind: type[Expr], expression: Expr | None) -> bool:
    return expression is not None and any(isinstance(part, kind) for part in walk(expression))
