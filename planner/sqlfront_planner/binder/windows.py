"""Binding of window functions: the OVER clause, its frame, and the function."""

from typing import Final

import pyarrow as pa
from sqlglot import exp

from sqlfront_planner.binder.collected_calls import WindowItem, WindowOrder, WindowOutput, Windows
from sqlfront_planner.binder.expressions.arguments import (
    argument_error,
    argument_kinds,
    check_count,
    coerce,
    function_name,
    missing_parameter,
    wrong_argument,
)
from sqlfront_planner.binder.expressions.expression_binder import Clause, ExpressionBinder, cast_to
from sqlfront_planner.binder.functions import ordered_sets
from sqlfront_planner.binder.functions.aggregates import (
    EDGES,
    LISTS,
    aggregate_call,
    constant_arguments,
    filter_condition,
)
from sqlfront_planner.binder.names.call_names import UNREAD_ARGUMENTS
from sqlfront_planner.binder.routines import calls as routine_calls
from sqlfront_planner.binder.trees.handlers import failure, handles, refuse_unknown, unsupported
from sqlfront_planner.binder.trees.sort_orders import sort_order
from sqlfront_planner.binder.window_frames import WHOLE, window_frame
from sqlfront_planner.types import is_orderable
from sqlfront_values import types
from sqlfront_values.expressions import (
    AggregateCall,
    Case,
    Expr,
    FrameUnit,
    Literal,
    WindowCall,
    WindowFrame,
    walk,
)
from sqlfront_values.functions.aggregates.registry import lookup_aggregate
from sqlfront_values.functions.registry import Kind
from sqlfront_values.functions.windows.registry import WindowFunction, lookup_window
from sqlfront_values.types import INT

_RUNNING_ROWS: Final = WindowFrame(FrameUnit.ROWS, None, 0)
_OFFSETS: Final = frozenset({"lag", "lead"})
#: Aggregates that require whole partitions.
_UNORDERED: Final = frozenset({"median", "percentile_cont", "percentile_disc"})
#: Aggregates that have no order and no frame behind WITHIN GROUP.
_LISTS: Final = frozenset({"listagg", "string_agg"})
_COUNTER: Final = "counter_diff"
#: Further types accepted for constant arguments, besides the declared type.
_WHOLE_NUMBERS: Final = {"nth_value": types.INTEGRALS}


@handles(exp.Window, arguments="this partition_by order spec alias over")
def bind_window(binder: ExpressionBinder, node: exp.Window) -> Expr:
    """Bind ``function(...) [FILTER (...)] [IGNORE NULLS] OVER (window)`` or ``OVER name``: add the call to
    the SELECT's window calls, and return the stand-in for its value."""
    collector = _collector(binder, node)
    if str(node.args.get("over") or "OVER").upper() != "OVER":
        raise unsupported(f"{node.args['over']} before a window", node)
    window, aliases = binder.window(node), len(binder.aliases_used)
    partition = tuple(binder.bind_all(window.args.get("partition_by") or []))
    for item in partition:
        if not is_orderable(item.type):
            raise failure(
                "EXPRESSION_TYPE_IS_NOT_ORDERABLE",
                "A window's partition cannot be sorted because its type is not orderable.",
                node,
            )
    order = ordering(binder, window.args.get("order"))
    function, condition, within, ignore_nulls = _unwrapped(node.this)
    call = _call(binder, function, condition, within, window, order, ignore_nulls=ignore_nulls)
    if len(binder.aliases_used) > aliases:
        raise failure(
            "UNSUPPORTED_FEATURE.LATERAL_COLUMN_ALIAS_IN_WINDOW",
            "The feature is not supported: Referencing a lateral column alias "
            f'`{binder.aliases_used[aliases]}` in window expression "{binder.name(node)}".',
            node,
        )
    inner = (*partition, *(item for item, _ in order), *call.arguments)
    if any(isinstance(part, WindowOutput) for item in inner for part in walk(item)):
        raise unsupported("A window function inside another window function", node)
    return collector.add(WindowItem(call, partition, order, binder.name(node), node))


def _collector(binder: ExpressionBinder, node: exp.Window) -> Windows:
    """Return the object that collects the SELECT's window calls. Raises Spark's error in a clause that allows
    no window functions, and in the arguments of an aggregate."""
    collector = binder.windows
    if binder.clause is Clause.GROUP_BY:
        raise failure(
            "MISSING_AGGREGATION",
            f"The window function {binder.name(node)} is not allowed in GROUP BY.",
            node,
        )
    if binder.clause is Clause.ORDER_BY:
        raise failure(
            "UNSUPPORTED_EXPR_FOR_OPERATOR",
            f"A window function in ORDER BY must be a column of the select list: {binder.name(node)}.",
            node,
        )
    if binder.clause in (Clause.LATERAL_VIEW, Clause.TABLE_FUNCTION):
        raise failure(
            "UNSUPPORTED_EXPR_FOR_OPERATOR",
            f"A window function in a generator of FROM is not allowed: {binder.name(node)}.",
            node,
        )
    if collector is None:
        raise failure(
            "WINDOW_FUNCTION_NOT_ALLOWED_IN_CLAUSE",
            f"It is not allowed to use window functions inside {binder.clause.value} clause.",
            node,
        )
    if binder.inside_aggregate:
        raise failure(
            "UNSUPPORTED_EXPR_FOR_OPERATOR",
            "A window function in the argument of an aggregate is not allowed.",
            node,
        )
    return collector


def ordering(binder: ExpressionBinder, node: exp.Expr | None) -> tuple[WindowOrder, ...]:
    """Bind the items of a window's ORDER BY; the result is empty if the window has no ORDER BY."""
    if node is None:
        return ()
    refuse_unknown(node, frozenset({"expressions"}))
    return tuple((binder.bind(item.this), sort_order(item)) for item in node.expressions)


def _unwrapped(node: exp.Expr) -> tuple[exp.Anonymous, exp.Expr | None, exp.Expr | None, bool | None]:
    """Unwrap a function's call from FILTER, WITHIN GROUP, IGNORE NULLS and RESPECT NULLS. Return the call,
    the condition of FILTER and the order of WITHIN GROUP (None without these clauses), and whether the call
    has IGNORE NULLS (False: RESPECT NULLS, None: neither)."""
    condition, within, ignore = None, None, None
    while not isinstance(node, exp.Anonymous):
        match node:
            case exp.IgnoreNulls():
                ignore = True
            case exp.RespectNulls():
                ignore = False
            case exp.Filter():
                condition = node.expression.this
            case exp.WithinGroup():
                within = node.expression
            case _:
                raise failure(
                    "UNSUPPORTED_EXPR_FOR_WINDOW",
                    "This expression is not supported within a window function.",
                    node,
                )
        node = node.this
    return node, condition, within, ignore


def _call(
    binder: ExpressionBinder,
    node: exp.Anonymous,
    condition: exp.Expr | None,
    within: exp.Expr | None,
    window: exp.Window,
    order: tuple[WindowOrder, ...],
    *,
    ignore_nulls: bool | None,
) -> WindowCall:
    name = function_name(node)
    entry = lookup_window(name)
    takes = name in EDGES | LISTS or (entry is not None and entry.takes_nulls_clause)
    if ignore_nulls and not takes:
        raise failure(
            "INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX",
            f"Invalid SQL syntax: The function `{name}` does not support IGNORE NULLS.",
            node,
        )
    if within is not None and (entry is not None or lookup_aggregate(name) is None):
        raise ordered_sets.takes_no_order(name, node)
    if entry is not None:
        if condition is not None:
            raise failure(
                "INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX",
                f"Invalid SQL syntax: The function `{name}` does not support FILTER.",
                node,
            )
        if any(isinstance(part, exp.Distinct) for part in node.expressions):
            raise failure(
                "INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX",
                f"Invalid SQL syntax: The function `{name}` does not support DISTINCT.",
                node,
            )
        return _ranking(binder, node, entry, window, order, ignore_nulls=bool(ignore_nulls))
    if lookup_aggregate(name) is None:
        binder.bind(node)  # raises the error that names an unknown function
        routine_calls.refuse_in(binder, node, "Window")
        raise failure(
            "UNSUPPORTED_EXPR_FOR_WINDOW",
            f'Expression "{binder.name(node)}" not supported within a window function.',
            node,
        )
    return _aggregate(binder, node, condition, within, window, order, ignore_nulls=ignore_nulls)


def _aggregate(
    binder: ExpressionBinder,
    node: exp.Anonymous,
    condition: exp.Expr | None,
    within: exp.Expr | None,
    window: exp.Window,
    order: tuple[WindowOrder, ...],
    *,
    ignore_nulls: bool | None,
) -> WindowCall:
    """Bind the call of an aggregate function over a window; ``condition`` is the condition of FILTER,
    ``within`` the order of WITHIN GROUP."""
    inner = binder.within(inside_aggregate=False)
    call = aggregate_call(inner, node, function_name(node), ignore_nulls=ignore_nulls, within=within)
    if isinstance(next(iter(node.expressions), None), exp.Distinct):
        raise failure(
            "DISTINCT_WINDOW_FUNCTION_UNSUPPORTED",
            f'Distinct window functions are not supported: "{binder.name(node)}".',
            node,
        )
    frame = window_frame(binder, window, order)
    is_unordered = call.function in _UNORDERED or (within is not None and call.function in _LISTS)
    if is_unordered and (order or frame != WHOLE):
        raise failure(
            "INVALID_WINDOW_SPEC_FOR_AGGREGATION_FUNC",
            f'Cannot specify ORDER BY or a window frame for "{binder.name(node)}".',
            node,
        )
    if condition is not None:
        call = _filtered(binder, call, filter_condition(inner, condition), node)
    return WindowCall(call.function, call.arguments, call.type, frame)


def _filtered(
    binder: ExpressionBinder, call: AggregateCall, condition: Expr, node: exp.Expr
) -> AggregateCall:
    """Return the call with null as its arguments in the rows that FILTER excludes, those in which
    ``condition`` isn't true. Raises NotSupportedError for an aggregate whose result depends on nulls."""
    entry = lookup_aggregate(call.function)
    assert entry is not None
    if call.function in EDGES and len(call.arguments) == 1:
        raise unsupported(f"FILTER with {call.function} over a window", node)
    arguments = call.arguments or (Literal(INT, 1),)
    hidden = tuple(
        argument
        if place in entry.constants
        else Case(argument.type, ((condition, argument),), Literal(argument.type, None))
        for place, argument in enumerate(arguments)
    )
    return AggregateCall(call.function, hidden, call.type)


def _ranking(
    binder: ExpressionBinder,
    node: exp.Anonymous,
    entry: WindowFunction,
    window: exp.Window,
    order: tuple[WindowOrder, ...],
    *,
    ignore_nulls: bool,
) -> WindowCall:
    """Bind the call of a ranking function, or of a function such as lag that reads another row; ``entry`` is
    the function's registry entry."""
    name, operands = entry.name, binder.bind_all(node.expressions)
    if name in _OFFSETS and len(operands) not in (1, 2, 3):
        raise unsupported(f"{name} with {len(operands)} arguments", node)
    if name in UNREAD_ARGUMENTS:
        operands = []
    elif name == _COUNTER:
        operands = _counter_operands(binder, operands, node)
    check_count(name, len(operands), len(entry.arguments) - entry.optional, len(entry.arguments), node)
    if entry.needs_order and not order:
        raise failure(
            "WINDOW_FUNCTION_FRAME_NOT_ORDERED",
            f"Window function {name} requires the window to be ordered. You need to add an ORDER BY clause.",
            node,
        )
    arguments = _ranking_arguments(binder, entry, operands, node)
    if name == "ntile" and arguments:
        _check_positive(arguments[0], "number of buckets", node)
    elif name == "nth_value":
        _check_positive(arguments[1], "offset", node)
    kind = entry.result_type(tuple(item.type for item in arguments))
    frame = window_frame(binder, window, order)
    if not entry.uses_frame:
        if window.args.get("spec") is not None and (name in _OFFSETS or frame != _RUNNING_ROWS):
            raise failure(
                "UNSUPPORTED_FEATURE.WINDOW_FRAME", f"A window frame for {name} is not supported.", node
            )
        frame = _RUNNING_ROWS
    return WindowCall(name, arguments, kind, frame, ignore_nulls)


def _counter_operands(binder: ExpressionBinder, operands: list[Expr], node: exp.Expr) -> list[Expr]:
    """Return the operands of counter_diff: the counter, its start, and the session's time zone. Raises
    DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE for operands of other types."""
    if not operands:
        raise missing_parameter(_COUNTER, "value", node)
    check_count(_COUNTER, len(operands), 1, 2, node)
    counter, start = operands[0], operands[1] if len(operands) > 1 else Literal(types.VOID, None)
    if not (types.is_numeric(counter.type) or counter.type == types.VOID):
        raise wrong_argument(binder, 0, Kind.NUMERIC, counter, node)
    if start.type not in (types.TIMESTAMP, types.TIMESTAMP_NTZ, types.VOID):
        raise argument_error(binder, 1, '("TIMESTAMP" or "TIMESTAMP_NTZ")', start, node)
    counter = cast_to(counter, types.DOUBLE) if counter.type == types.VOID else counter
    start = cast_to(start, types.TIMESTAMP_NTZ) if start.type == types.VOID else start
    zone = Literal(types.STRING, binder.context.settings.evaluation.time_zone)
    return [counter, start, zone]


def _ranking_arguments(
    binder: ExpressionBinder, entry: WindowFunction, operands: list[Expr], node: exp.Expr
) -> tuple[Expr, ...]:
    """Return the operands, cast to the types that ``entry`` declares; arguments that must be constant become
    literals. Raises NotSupportedError for a constant of another type than the declared type, and for a null
    constant."""
    name, kinds = entry.name, list(argument_kinds(entry.arguments, len(operands), variadic=False))
    for place in entry.like_first:
        if place < len(operands):
            kinds[place] = _default_type(operands[0].type, operands[place], node)
    for place in entry.constants:
        if place < len(operands):
            given = operands[place].type
            if given not in (kinds[place], types.VOID, *_WHOLE_NUMBERS.get(name, ())):
                raise unsupported(f"{name} with a number as {types.sql_name(given)}", node)
    arguments = constant_arguments(binder, entry.constants, coerce(binder, name, kinds, operands, node), node)
    for place in entry.constants:
        if place < len(arguments) and arguments[place] == Literal(arguments[place].type, None):
            raise unsupported(f"A null as argument {place + 1} of {name}", node)
    return arguments


def _default_type(wanted: pa.DataType, default: Expr, node: exp.Expr) -> pa.DataType:
    """Return ``wanted``, the type of the function's values, to which ``default``, the result for missing
    rows, is cast. Raises NotSupportedError for a string as the default of untyped or interval values."""
    if types.is_string(default.type) and (wanted == types.VOID or types.is_interval(wanted)):
        raise unsupported(f"A string as default for {types.sql_name(wanted)}", node)
    return wanted


def _check_positive(count: Expr, what: str, node: exp.Expr) -> None:
    if isinstance(count, Literal) and isinstance(count.value, int) and count.value <= 0:
        raise failure(
            "DATATYPE_MISMATCH.VALUE_OUT_OF_RANGE",
            f"The {what} must be at least 1, but is {count.value}.",
            node,
        )
