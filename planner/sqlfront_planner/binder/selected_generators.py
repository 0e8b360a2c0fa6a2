"""Generators in the select list.

Without groups, each generator makes rows of the rows of FROM and WHERE, and the select list is computed over
the rows made. As in Spark, items of the list read the columns that a generator makes by their names, even
items before it and other generators.

In a SELECT with groups, one generator makes rows of the groups.
"""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec.structs import replace
from sqlglot import exp

from sqlfront_planner.binder.collected_calls import GeneratorOutput, WindowItem
from sqlfront_planner.binder.expressions.arguments import function_name
from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder
from sqlfront_planner.binder.generator_calls import (
    GeneratorCall,
    SelectedGenerators,
    call_of,
    holds_generator,
    is_item,
)
from sqlfront_planner.binder.generators import bind_generator, nested, renamed
from sqlfront_planner.binder.outer_columns import refuse_in_generator
from sqlfront_planner.binder.scope import Scope, ScopeColumn
from sqlfront_planner.binder.trees.constants import may_be_position
from sqlfront_planner.binder.trees.handlers import failure, refuse_unknown, unsupported
from sqlfront_planner.logical import LogicalPlan
from sqlfront_values.errors import ProgrammingError
from sqlfront_values.expressions import Column, Expr, transform, walk
from sqlfront_values.functions.aggregates.registry import lookup_aggregate

#: The arguments of GROUP BY that hold grouping sets or ALL.
_SETS: Final = ("rollup", "cube", "grouping_sets", "all")


def _bound(binder: ExpressionBinder, part: exp.Expr) -> GeneratorCall:
    """Bind an item of the select list that is a generator."""
    call = call_of(part)
    assert call is not None
    aliases: list[str] = []
    if isinstance(part, exp.Alias):
        refuse_unknown(part, frozenset({"this", "alias"}))
        aliases = [part.alias]
    elif isinstance(part, exp.Aliases):
        refuse_unknown(part, frozenset({"this", "expressions"}))
        aliases = [name.name for name in part.expressions]
    return renamed(bind_generator(binder, call), aliases, part)


def bind_all(
    binder: ExpressionBinder, plan: LogicalPlan, parts: Sequence[exp.Expr]
) -> tuple[LogicalPlan, Scope, SelectedGenerators]:
    """Bind the generators among ``parts``, the items of a select list without groups. Return the plan that
    generates their rows of the rows of ``plan``, the scope of that plan's row, and the generators.

    The first generator whose names can be found comes first, then the rest, which may read its columns."""
    for part in parts:
        if not is_item(part) and holds_generator(part):
            raise nested(binder, part.this if isinstance(part, exp.Alias | exp.Aliases) else part)
    waiting = [part for part in parts if is_item(part)]
    columns: dict[int, Sequence[tuple[str, Expr]]] = {}
    scope = binder.scope
    while waiting:
        try:
            part, call = _first_bound(replace(binder, scope=scope), waiting)
        except ProgrammingError:
            for part in waiting:
                _refuse_aliases(parts, part)
            raise
        waiting.remove(part)
        before = plan.width
        if binder.scope.parent is not None:
            refuse_in_generator(plan, call.arguments, part)
        generated = call.over(plan)
        made = generated.row()[before:]
        plan = generated
        columns[id(part)] = [(column.name, column) for column in made]
        scope = replace(
            scope,
            width=plan.width,
            generated=(*scope.generated, *(ScopeColumn(column.name, column) for column in made)),
            _resolved={},
        )
    return plan, scope, SelectedGenerators(columns)


def _first_bound(binder: ExpressionBinder, waiting: Sequence[exp.Expr]) -> tuple[exp.Expr, GeneratorCall]:
    first: ProgrammingError | None = None
    for part in waiting:
        try:
            return part, _bound(binder, part)
        except ProgrammingError as error:
            if not (error.condition or "").startswith("UNRESOLVED_COLUMN"):
                raise
            first = first or error
    assert first is not None
    raise first


def _refuse_aliases(parts: Sequence[exp.Expr], call: exp.Expr) -> None:
    """Raise NotSupportedError if the ``call`` of a generator reads an alias of the select list, which Spark
    doesn't resolve."""
    aliases = {part.alias.lower() for part in parts if isinstance(part, exp.Alias) and not is_item(part)}
    if any(column.parts[0].name.lower() in aliases for column in call.find_all(exp.Column)):
        raise unsupported("An alias of the same SELECT in a generator's argument", call)


def refuse_in_windows(named: Sequence[Expr], windows: Sequence[WindowItem]) -> None:
    """Raise LATERAL_COLUMN_ALIAS_IN_WINDOW if a window call reads one of the columns ``named``, to which
    items before the call give names."""
    if not named:
        return
    for window in windows:
        parts = (*window.call.arguments, *window.partition, *(item for item, _ in window.order))
        for column in (item for part in parts for item in walk(part) if isinstance(item, Column)):
            if column in named:
                raise failure(
                    "UNSUPPORTED_FEATURE.LATERAL_COLUMN_ALIAS_IN_WINDOW",
                    f"The feature is not supported: Referencing a lateral column alias `{column.name}` in "
                    f'window expression "{window.name}".',
                    window.node,
                )


# ---- beside groups


def is_grouped(node: exp.Select) -> bool:
    """Return whether a SELECT with a generator has groups: by GROUP BY, HAVING, or an aggregate function in
    the select list."""
    if node.args.get("group") is not None or node.args.get("having") is not None:
        return True
    return any(map(_holds_aggregate, node.expressions))


def _holds_aggregate(part: exp.Expr) -> bool:
    for item in part.walk(prune=lambda item: isinstance(item, exp.Query | exp.Window)):
        if not isinstance(item, exp.Anonymous) or isinstance(item.parent, exp.Window):
            continue
        if lookup_aggregate(function_name(item)) is not None:
            return True
    return False


def refuse_beside_groups(binder: ExpressionBinder, node: exp.Select) -> None:
    """Raise UNSUPPORTED_GENERATOR.MULTI_GENERATOR for several generators beside groups. Raise
    NotSupportedError for a generator beside HAVING, window functions, grouping sets, or GROUP BY with
    positions or ALL."""
    for part in node.expressions:
        if not is_item(part) and holds_generator(part):
            raise nested(binder, part.this if isinstance(part, exp.Alias | exp.Aliases) else part)
    calls = [call for part in node.expressions if (call := call_of(part)) is not None]
    if len(calls) > 1:
        shown = ", ".join(f'"{binder.name(call)}"' for call in calls)
        raise failure(
            "UNSUPPORTED_GENERATOR.MULTI_GENERATOR",
            f"The generator is not supported: only one generator allowed per SELECT clause but found "
            f"{len(calls)}: {shown}.",
            calls[1],
        )
    if node.args.get("having") is not None or node.args.get("qualify") is not None:
        raise unsupported("HAVING or QUALIFY beside a generator", node)
    if any(part.find(exp.Window) is not None for part in node.expressions):
        raise unsupported("A window function over groups beside a generator", node)
    group = node.args.get("group")
    if group is None:
        return
    if any(group.args.get(name) for name in _SETS) or any(map(_is_set_or_position, group.expressions)):
        raise unsupported("GROUP BY with positions, ALL or grouping sets beside a generator", node)


def _is_set_or_position(part: exp.Expr) -> bool:
    is_all = isinstance(part, exp.Column | exp.Var) and part.name.lower() == "all"
    return is_all or isinstance(part, exp.Rollup | exp.Cube | exp.GroupingSets) or may_be_position(part)


def bind_grouped(binder: ExpressionBinder, node: exp.Select) -> SelectedGenerators:
    """Bind the generator of a SELECT with groups; its aggregate calls are collected."""
    part = next(part for part in node.expressions if is_item(part))
    call = _bound(binder, part)
    outputs = [
        (name, GeneratorOutput(kind, place))
        for place, (name, kind) in enumerate(zip(call.names, call.types, strict=True))
    ]
    return SelectedGenerators({id(part): outputs}, call, call_of(part))


def apply_grouped(
    call: GeneratorCall, plan: LogicalPlan
) -> tuple[LogicalPlan, Callable[[Expr, exp.Expr], Expr]]:
    """Return the plan that generates rows of ``plan``, the groups, and a rewriter of expressions that
    replaces the stand-ins for the generator's columns."""
    generated = call.over(plan)
    columns = generated.row()[plan.width :]

    def place(item: Expr) -> Expr:
        return columns[item.index] if isinstance(item, GeneratorOutput) else item

    return generated, lambda expression, node: transform(expression, place)


def check_order(nodes: Sequence[exp.Expr]) -> None:
    """Raise UNSUPPORTED_EXPR_FOR_OPERATOR for an aggregate function in ORDER BY, which Spark evaluates above
    the generator."""
    for node in nodes:
        if _holds_aggregate(node):
            raise failure(
                "UNSUPPORTED_EXPR_FOR_OPERATOR",
                "The query operator Sort contains one or more unsupported expressions.\nConsider to rewrite "
                "it to avoid window functions, aggregate functions, and generator functions in the Sort "
                "operator.",
                node,
            )
