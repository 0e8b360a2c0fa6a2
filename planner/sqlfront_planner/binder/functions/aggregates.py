"""Binding of aggregate calls."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
from msgspec.structs import replace
from sqlglot import exp

from sqlfront_planner.binder.collected_calls import AggregateOutput, GroupingCall
from sqlfront_planner.binder.expressions import arguments as call_arguments
from sqlfront_planner.binder.expressions.columns import known_outputs, unresolved
from sqlfront_planner.binder.expressions.expression_binder import Clause, ExpressionBinder, cast_to
from sqlfront_planner.binder.functions import aggregate_bounds, ordered_sets, sketch_calls
from sqlfront_planner.binder.scope import columns_of_star
from sqlfront_planner.binder.trees.handlers import failure, handles, refuse_unknown, unsupported
from sqlfront_planner.expressions.rewriting import is_random
from sqlfront_planner.logical import OuterColumn
from sqlfront_planner.types import DATETIMES, argument_name, is_orderable
from sqlfront_values import types
from sqlfront_values.errors import Error, ProgrammingError
from sqlfront_values.expressions import AggregateCall, Column, Expr, Literal, walk
from sqlfront_values.functions.aggregates import registry as functions
from sqlfront_values.functions.aggregates.aggregate_function import AggregateFunction
from sqlfront_values.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    TIMESTAMP,
    TINYINT,
    VOID,
    is_decimal,
    is_numeric,
    is_string,
    sql_name,
)

EDGES: Final = frozenset({"first", "first_value", "any_value", "last", "last_value"})
#: Aggregates that return one value, or several with a third argument; DISTINCT matters for several.
_BEST: Final = frozenset({"min_by", "max_by"})
#: Aggregates of datetimes for which Spark wants its type TIME, which is off by default.
_TIMED: Final = frozenset({"median", "percentile"} | ordered_sets.PERCENTILES)
#: Aggregates that skip nulls unless the call has RESPECT NULLS.
LISTS: Final = frozenset({"collect_list", "collect_set", "array_agg", "collect_union"})
#: Aggregates that compare the values of their only or second argument.
_COMPARING: Final = frozenset({"min", "max", "min_by", "max_by"})
#: Aggregates that Spark, unlike this binder, accepts over TIMESTAMP (sums).
_SUMS: Final = frozenset({"sum", "avg", "mean", "try_sum", "try_avg"})
_TOP_K: Final = frozenset({"approx_top_k", "approx_top_k_accumulate", "approx_top_k_combine"})
_PERCENTILES: Final = frozenset(
    {"percentile", "percentile_approx", "approx_percentile"} | ordered_sets.PERCENTILES
)


@handles(exp.Filter, arguments="this expression")
def bind_filter(binder: ExpressionBinder, node: exp.Filter) -> Expr:
    """Bind ``sum(x) FILTER (WHERE condition)``."""
    call, within = node.this, None
    if isinstance(call, exp.WithinGroup):
        call, within = call.this, call.expression
    if not isinstance(call, exp.Anonymous):
        raise unsupported("FILTER behind this expression", node)
    name = _aggregate_name(call)
    if name is None:
        raise failure(
            "INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX",
            "Invalid SQL syntax: FILTER needs an aggregate function.",
            node,
        )
    return bind_aggregate(binder, call, name, condition=node.expression.this, within=within)


@handles(exp.WithinGroup, arguments="this expression")
def bind_within_group(binder: ExpressionBinder, node: exp.WithinGroup) -> Expr:
    """Bind ``percentile_cont(0.5) WITHIN GROUP (ORDER BY x)``."""
    call = node.this
    if not isinstance(call, exp.Anonymous):
        raise unsupported("WITHIN GROUP behind this expression", node)
    name = _aggregate_name(call)
    if name is None:
        raise ordered_sets.takes_no_order(call_arguments.function_name(call), node)
    return bind_aggregate(binder, call, name, within=node.expression)


@handles(exp.IgnoreNulls, exp.RespectNulls)
def bind_ignore_nulls(binder: ExpressionBinder, node: exp.IgnoreNulls | exp.RespectNulls) -> Expr:
    """Bind ``first(x) IGNORE NULLS`` or ``RESPECT NULLS``."""
    call = node.this
    name = _aggregate_name(call) if isinstance(call, exp.Anonymous) else None
    if name is None:
        bound = binder.bind(call)
        if isinstance(node, exp.IgnoreNulls):
            raise _ignores_no_nulls(binder.name(call).partition("(")[0], node)
        return bound
    return bind_aggregate(binder, call, name, ignore_nulls=isinstance(node, exp.IgnoreNulls))


def _aggregate_name(call: exp.Anonymous) -> str | None:
    name = call_arguments.function_name(call)
    return name if functions.lookup_aggregate(name) is not None else None


def bind_aggregate(
    binder: ExpressionBinder,
    node: exp.Anonymous,
    name: str,
    *,
    condition: exp.Expr | None = None,
    ignore_nulls: bool | None = None,
    within: exp.Expr | None = None,
) -> Expr:
    """Bind an aggregate call over the input's row. Add the call to the calls that the SELECT computes, and
    return the expression that stands for the call's value in the select list. ``condition``: the condition of
    FILTER, None without FILTER; ``within``: likewise the order of WITHIN GROUP.

    Raises ProgrammingError: NESTED_AGGREGATE_FUNCTION, and INVALID_WHERE_CONDITION or a similar error in
    clauses that allow no aggregate."""
    collector = binder.aggregates
    if binder.inside_aggregate:
        raise failure(
            "NESTED_AGGREGATE_FUNCTION",
            "It is not allowed to use an aggregate function in the argument of another aggregate function. "
            "Please use the "
            "inner aggregate function in a sub-query.",
            node,
        )
    output = binder.output
    if collector is None or (output is not None and binder.clause is Clause.ORDER_BY and not output.grouped):
        raise _misplaced(binder, node)
    inner = binder.within(inside_aggregate=True)
    call = aggregate_call(inner, node, name, ignore_nulls=ignore_nulls, within=within)
    if condition is not None:
        kept = filter_condition(inner, condition)
        call = AggregateCall(call.function, call.arguments, call.type, call.distinct, kept)
    if any(map(is_random, call.arguments)):
        raise failure(
            "AGGREGATE_FUNCTION_WITH_NONDETERMINISTIC_EXPRESSION",
            f'Non-deterministic expression "{binder.name(node)}" should not appear in the arguments of an'
            " aggregate function.",
            node,
        )
    return collector.add(call)


def filter_condition(binder: ExpressionBinder, node: exp.Expr) -> Expr:
    """Bind the condition of FILTER (WHERE ...). Raises INVALID_AGGREGATE_FILTER if the condition isn't
    boolean, or not deterministic."""
    condition = binder.bind(node)
    if condition.type != BOOLEAN:
        raise failure(
            "INVALID_AGGREGATE_FILTER.NOT_BOOLEAN",
            f'The FILTER expression "{binder.name(node)}" in an aggregate function is invalid. Expected a '
            "FILTER "
            "expression of the BOOLEAN type.",
            node,
        )
    if is_random(condition):
        raise failure(
            "INVALID_AGGREGATE_FILTER.NON_DETERMINISTIC",
            f'The FILTER expression "{binder.name(node)}" in an aggregate function is invalid. Expected a'
            " deterministic FILTER expression.",
            node,
        )
    return condition


def aggregate_call(
    binder: ExpressionBinder,
    node: exp.Anonymous,
    name: str,
    *,
    ignore_nulls: bool | None = None,
    within: exp.Expr | None = None,
) -> AggregateCall:
    """Return the typed call of the aggregate function ``name``, with bound arguments that are cast to the
    types that the function takes. ``ignore_nulls``: the call has IGNORE NULLS (False: RESPECT
    NULLS, None: neither); ``within``: the order of WITHIN GROUP, None without WITHIN GROUP."""
    entry = functions.lookup_aggregate(name)
    assert entry is not None
    nodes, distinct = _arguments(node)
    if name == "count" and not distinct and [type(part) for part in nodes] == [exp.Star]:
        refuse_unknown(nodes[0], frozenset())
        return AggregateCall("count", (), BIGINT)
    if name == "count" and not nodes:
        raise failure(
            "WRONG_NUM_ARGS.WITH_SUGGESTION",
            "The `count` requires >= 1 parameters but the actual number is 0."
            f" {call_arguments.WHERE_FUNCTIONS_ARE}",
            node,
        )
    if name == "count" and len(nodes) == 1 and isinstance(nodes[0], exp.Column) and nodes[0].is_star:
        raise failure(
            "INVALID_USAGE_OF_STAR_WITH_TABLE_IDENTIFIER_IN_COUNT",
            "count(table.*) is not allowed. Use count(*) or expand the columns manually, e.g. count(col1, "
            "col2).",
            node,
        )
    operands = _expanded(binder, nodes)
    if name in ordered_sets.ORDERED or within is not None:
        operands = ordered_sets.ordered_operands(binder, name, operands, within, node, distinct=distinct)
    elif entry.written is not None:
        written = len(entry.arguments) - entry.optional
        call_arguments.check_count(name, len(operands), written, entry.written, node)
    operands = aggregate_bounds.measured(binder, name, _with_numbers(name, operands), node)
    _refuse_unbuilt(name, operands, node)
    if ignore_nulls is not None:
        operands = _with_nulls_clause(name, operands, node, ignore=ignore_nulls)
    kinds = call_arguments.argument_kinds(entry.arguments, len(operands), variadic=entry.variadic)
    least = len(entry.arguments) - entry.optional
    most = None if entry.variadic else len(entry.arguments)
    call_arguments.check_count(name, len(operands), least, most, node)
    _check_allowed(binder, entry, operands, node)
    coerce = sketch_calls.coerce if name in _TOP_K else call_arguments.coerce
    arguments = constant_arguments(
        binder,
        entry.constants,
        coerce(binder, name, kinds, operands, node),
        node,
        entry.constant_condition,
    )
    aggregate_bounds.check_bounds(binder, name, arguments, node)
    if distinct and not all(is_orderable(item.type) for item in arguments):
        raise unsupported("DISTINCT of maps or variants", node)
    if name in _COMPARING:
        call_arguments.check_orderable(binder, name, arguments[:2][-1].type, node)
    kind = entry.result_type(tuple(item.type for item in arguments))
    matters = entry.distinct_matters and not (name in _BEST and len(arguments) == 2)
    return AggregateCall(entry.name, arguments, kind, distinct and matters)


def _check_allowed(
    binder: ExpressionBinder, entry: AggregateFunction, operands: Sequence[Expr], node: exp.Expr
) -> None:
    """Raise DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE for an operand of a type that the function neither takes
    nor casts (``entry.allowed``)."""
    for place, (operand, kind) in enumerate(zip(operands, entry.arguments, strict=False)):
        allowed = entry.allowed[place] if place < len(entry.allowed) else None
        if operand.type == VOID:
            if not (entry.typed and place == 0):
                continue
        elif allowed is None or operand.type in allowed:
            continue
        names = [argument_name(each) for each in allowed or (kind,)]
        required = names[0] if len(names) == 1 else f"({' or '.join(names)})"
        raise call_arguments.argument_error(binder, place, required, operand, node)


def _refuse_unbuilt(name: str, operands: Sequence[Expr], node: exp.Expr) -> None:
    """Raise Spark's error for arguments that Spark checks otherwise than by their types, and
    NotSupportedError for those that Spark's aggregates accept and that aren't implemented here: percentages
    in arrays of strings, and timestamps as numbers."""
    if name in _TIMED and operands and operands[0].type in DATETIMES:
        raise failure("UNSUPPORTED_TIME_TYPE", "The data type TIME is not supported.", node)
    if name == "approx_count_distinct" and operands:
        if types.holds_variant(operands[0].type):
            raise unsupported("approx_count_distinct of variants", node)
        if len(operands) == 2 and not _is_deviation(operands[1]):
            raise ProgrammingError(
                "The second argument should be a double literal.", condition="_LEGACY_ERROR_TEMP_1104"
            )
        if pa.types.is_map(operands[0].type):
            raise unsupported(f"{name} of maps", node)
    if name in _PERCENTILES and len(operands) > 1 and operands[1].type == VOID:
        raise failure(
            "DATATYPE_MISMATCH.UNEXPECTED_NULL",
            "Cannot resolve a percentile due to data type mismatch: The percentage must not be null.",
            node,
        )
    if name in _PERCENTILES and len(operands) > 1 and not _are_numbers(operands[1].type):
        raise unsupported(f"{name} with a percentage of {sql_name(operands[1].type)}", node)
    kind = operands[0].type if operands else None
    is_set = name == "collect_set" or (name == "collect_union" and kind and pa.types.is_list(kind))
    if is_set and kind not in (None, VOID) and not is_orderable(kind):
        raise failure(
            "DATATYPE_MISMATCH.UNSUPPORTED_INPUT_TYPE",
            f'Cannot resolve "{name}" due to data type mismatch: The input of `{name}` can\'t be "MAP" or'
            ' "COLLATED STRING" type data.',
            node,
        )
    if name in _SUMS and kind == TIMESTAMP:
        raise unsupported(f"{name} of {sql_name(kind)}", node)


def _is_deviation(operand: Expr) -> bool:
    return isinstance(operand, Literal) and (operand.type == DOUBLE or is_decimal(operand.type))


def _with_nulls_clause(name: str, operands: list[Expr], node: exp.Expr, *, ignore: bool) -> list[Expr]:
    """Return the operands of a call with IGNORE NULLS or RESPECT NULLS: the clause becomes the last operand
    unless it says what the function does anyway, as RESPECT NULLS does for most functions."""
    if name in EDGES:
        return [operands[0], Literal(BOOLEAN, True)] if ignore and operands else operands
    if name not in LISTS and not ignore:
        return operands
    if name not in LISTS:
        raise _ignores_no_nulls(name, node)
    return operands if ignore else [*operands, Literal(BOOLEAN, True)]


def _ignores_no_nulls(name: str, node: exp.Expr) -> Error:
    return failure(
        "INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX",
        f"Invalid SQL syntax: The function `{name}` does not support IGNORE NULLS.",
        node,
    )


def _with_numbers(name: str, operands: list[Expr]) -> list[Expr]:
    """Return the operands, a percentage that is a string cast to a number."""
    if name in _PERCENTILES and len(operands) > 1 and is_string(operands[1].type):
        return [operands[0], cast_to(operands[1], DOUBLE), *operands[2:]]
    return operands


def _are_numbers(data_type: pa.DataType) -> bool:
    return is_numeric(data_type.value_type if pa.types.is_list(data_type) else data_type)


def _arguments(node: exp.Anonymous) -> tuple[list[exp.Expr], bool]:
    """Return the nodes of the call's arguments, and whether the call has DISTINCT."""
    nodes = node.expressions
    if len(nodes) == 1 and isinstance(nodes[0], exp.Distinct):
        refuse_unknown(nodes[0], frozenset({"expressions"}))
        return list(nodes[0].expressions), True
    return list(nodes), False


def _expanded(binder: ExpressionBinder, nodes: Sequence[exp.Expr]) -> list[Expr]:
    """Bind the arguments; ``*`` is expanded to all columns in scope, ``t.*`` to the columns of a relation."""
    operands: list[Expr] = []
    for part in nodes:
        if part.is_star:
            operands += [column.expression for column in columns_of_star(part, binder.scope)]
        else:
            operands.append(binder.bind(part))
    return operands


def constant_arguments(
    binder: ExpressionBinder,
    places: Sequence[int],
    arguments: tuple[Expr, ...],
    node: exp.Expr,
    condition: str | None = None,
) -> tuple[Expr, ...]:
    """Return the arguments, with each parameter at one of the positions ``places`` replaced by a literal with
    its value, on which the plan then depends. Raises DATATYPE_MISMATCH.NON_FOLDABLE_INPUT, or the given
    ``condition``, if an argument at these positions reads a column."""
    result = list(arguments)
    for place in places:
        if place < len(result):
            result[place] = binder.context.known_value(result[place])
            if any(isinstance(item, Column | OuterColumn) for item in walk(result[place])):
                if condition is not None:
                    raise failure(
                        condition,
                        f'Invalid call in "{binder.name(node)}"; the size must be a constant value, but got a'
                        " non-constant expression.",
                        node,
                    )
                raise failure(
                    "DATATYPE_MISMATCH.NON_FOLDABLE_INPUT",
                    f'Cannot resolve "{binder.name(node)}" due to data type mismatch: the input at position '
                    f"{place + 1} should "
                    "be a foldable expression.",
                    node,
                )
    return tuple(result)


def bind_grouping_call(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    """Bind ``grouping(key)`` (tinyint) or ``grouping_id(keys)`` (bigint) to a stand-in for the value. Raises
    UNSUPPORTED_GROUPING_EXPRESSION in clauses that allow no aggregate."""
    if binder.aggregates is None:
        raise no_grouping_sets(node)
    name = call_arguments.function_name(node)
    kind = TINYINT if name == "grouping" else BIGINT
    inner = binder.within(inside_aggregate=True)
    arguments = tuple([_grouping_argument(inner, part, name) for part in node.expressions])
    return binder.aggregates.add_grouping(GroupingCall(arguments, kind, node))


def _grouping_argument(binder: ExpressionBinder, node: exp.Expr, name: str) -> Expr:
    """Bind an argument of ``grouping`` or ``grouping_id`` (``name``), which must be a grouping key. HAVING
    and ORDER BY find fewer keys than the select list, see :class:`OutputNames`.

    Raises ProgrammingError: UNSUPPORTED_GROUPING_EXPRESSION without grouping sets, and
    ``GROUPING_COLUMN_MISMATCH``, ``GROUPING_ID_COLUMN_MISMATCH`` or UNRESOLVED_COLUMN for an argument that
    isn't a key.
    """
    output = binder.output
    if output is None:
        return binder.bind(node)
    names = output.expressions if output.groupings is None else output.aliases
    is_alias = isinstance(node, exp.Column) and len(node.parts) == 1 and node.name.lower() in names
    expression = None if is_alias else replace(binder, output=None).bind(node)
    if output.groupings is None:
        raise no_grouping_sets(node)
    if expression is not None and expression in output.groupings:
        return expression
    if binder.clause is not Clause.ORDER_BY and not is_alias:
        raise unresolved(known_outputs(output), (node.name or "expression",), node)
    raise failure(
        f"{name.upper()}_COLUMN_MISMATCH",
        f"The argument of {name}() is none of the grouping columns, as they are known in "
        f"{binder.clause.value}.",
        node,
    )


def no_grouping_sets(node: exp.Expr) -> Error:
    """Make the error UNSUPPORTED_GROUPING_EXPRESSION for ``grouping`` in a query without grouping sets."""
    return failure(
        "UNSUPPORTED_GROUPING_EXPRESSION",
        "grouping()/grouping_id() can only be used with GroupingSets/Cube/Rollup.",
        node,
    )


def _misplaced(binder: ExpressionBinder, node: exp.Anonymous) -> Error:
    inner = binder.within(inside_aggregate=True)
    nodes, _ = _arguments(node)
    arguments = [inner.bind(part) for part in nodes if not isinstance(part, exp.Star)]
    if any(isinstance(item, OuterColumn) for argument in arguments for item in walk(argument)):
        return unsupported("An aggregate function over the columns of an enclosing query", node)
    shown = binder.name(node)
    match binder.clause:
        case Clause.WHERE:
            return failure(
                "INVALID_WHERE_CONDITION",
                f"The WHERE condition contains invalid expressions: {shown}. Rewrite the query to avoid "
                "window functions, "
                "aggregate functions, and generator functions in the WHERE clause.",
                node,
            )
        case Clause.QUALIFY:
            if node.find_ancestor(exp.Window) is not None or _is_grouped(binder, node):
                return unsupported("An aggregate function in QUALIFY", node)
            return failure(
                "QUALIFY_AGGREGATE_NOT_ALLOWED",
                f'Aggregate functions are not supported in QUALIFY: "{shown}".',
                node,
            )
        case Clause.GROUP_BY:
            return failure(
                "GROUP_BY_AGGREGATE",
                f"Aggregate functions are not allowed in GROUP BY, but found {shown}.",
                node,
            )
        case clause:
            return failure(
                "UNSUPPORTED_EXPR_FOR_OPERATOR",
                f'The aggregate function "{shown}" is not allowed in {clause.value}.',
                node,
            )


def _is_grouped(binder: ExpressionBinder, node: exp.Expr) -> bool:
    """Return whether the SELECT of ``node``, a part of its QUALIFY, has GROUP BY or aggregate functions."""
    select = node.find_ancestor(exp.Select)
    if binder.output is None or (select is not None and select.args.get("group") is not None):
        return True
    outputs = (item for items in binder.output.expressions.values() for item in items)
    return any(isinstance(part, AggregateOutput) for item in outputs for part in walk(item))
