"""Binding of function calls: the registry's scalar functions, and functions rewritten to other
expressions."""

from typing import Final

import pyarrow as pa
from sqlglot import exp

from sqlfront_planner.binder import generators
from sqlfront_planner.binder.expressions.arguments import (
    NOT_CALLABLE,
    CallBinder,
    CallBinders,
    argument_error,
    call_function,
    check_count,
    function_name,
    mixed_types,
    no_such_function,
    wrong_argument,
)
from sqlfront_planner.binder.expressions.calendar_intervals import CALENDAR_INTERVALS
from sqlfront_planner.binder.expressions.casts import explicit_cast
from sqlfront_planner.binder.expressions.collections import COLLECTION_FUNCTIONS
from sqlfront_planner.binder.expressions.columns import field_of
from sqlfront_planner.binder.expressions.conditionals import CONDITIONAL_FUNCTIONS
from sqlfront_planner.binder.expressions.expression_binder import ExpressionBinder
from sqlfront_planner.binder.expressions.operators import arithmetic, concatenation
from sqlfront_planner.binder.functions import sketch_calls
from sqlfront_planner.binder.functions.aggregates import bind_aggregate, bind_grouping_call
from sqlfront_planner.binder.functions.constructors import CONSTRUCTORS
from sqlfront_planner.binder.functions.date_functions import DATE_FUNCTIONS
from sqlfront_planner.binder.functions.lambdas import LAMBDA_FUNCTIONS
from sqlfront_planner.binder.functions.random_values import RANDOM_VALUES
from sqlfront_planner.binder.functions.structured_texts import STRUCTURED_TEXTS
from sqlfront_planner.binder.functions.switched_off import SWITCHED_OFF
from sqlfront_planner.binder.functions.text_conversions import TEXT_CONVERSIONS
from sqlfront_planner.binder.functions.time_buckets import TIME_BUCKETS
from sqlfront_planner.binder.functions.times import TIME_FUNCTIONS
from sqlfront_planner.binder.functions.variants import VARIANT_FUNCTIONS
from sqlfront_planner.binder.generator_calls import GENERATORS
from sqlfront_planner.binder.names import routine_names
from sqlfront_planner.binder.names.shown_names import quoted
from sqlfront_planner.binder.names.spark_functions import CALLABLE
from sqlfront_planner.binder.routines import calls as routine_calls
from sqlfront_planner.binder.scope import columns_of_star
from sqlfront_planner.binder.time_windows.calls import TIME_WINDOWS
from sqlfront_planner.binder.trees.handlers import failure, handles, unsupported
from sqlfront_values import types
from sqlfront_values.expressions import Call, Expr, Literal, RunValue
from sqlfront_values.functions import registry
from sqlfront_values.functions.aggregates.registry import lookup_aggregate
from sqlfront_values.functions.windows.registry import lookup_window
from sqlfront_values.types import BIGINT, DATE, DOUBLE, INT, STRING, TIMESTAMP, TIMESTAMP_NTZ

_ALIASES: Final = {"regexp": "rlike"}

#: Spark's functions whose arguments may have names.
_NAMING: Final = frozenset({"count_min_sketch", "explode", "explode_outer", "mask", "variant_explode"})

#: Functions that are casts, as ``int(x)``.
CAST_FUNCTIONS: Final[dict[str, pa.DataType]] = {
    "boolean": types.BOOLEAN,
    "tinyint": types.TINYINT,
    "smallint": types.SMALLINT,
    "int": INT,
    "bigint": BIGINT,
    "float": types.FLOAT,
    "double": types.DOUBLE,
    "decimal": types.decimal(10, 0),
    "string": STRING,
    "binary": types.BINARY,
    "date": DATE,
    "timestamp": TIMESTAMP,
    "time": types.TIME,
}

#: Functions whose value is fixed once per run; the type, and the name in result columns.
RUN_VALUES: Final[dict[str, tuple[pa.DataType, str]]] = {
    "current_date": (DATE, "current_date"),
    "curdate": (DATE, "current_date"),
    "current_timestamp": (TIMESTAMP, "current_timestamp"),
    "now": (TIMESTAMP, "now"),
    "localtimestamp": (TIMESTAMP_NTZ, "localtimestamp"),
    "current_timezone": (STRING, "current_timezone"),
    "current_user": (STRING, "current_user"),
    "user": (STRING, "current_user"),
    "session_user": (STRING, "current_user"),
    "current_database": (STRING, "current_schema"),
    "current_schema": (STRING, "current_schema"),
    "current_catalog": (STRING, "current_catalog"),
    "current_path": (STRING, "current_path"),
    "version": (STRING, "version"),
}

#: Functions that coerce their two operands like an arithmetic operator.
_ARITHMETIC_FUNCTIONS: Final = {
    "mod": "remainder",
    "pmod": "remainder",
    "div": "div",
    "try_add": "add",
    "try_subtract": "subtract",
    "try_multiply": "multiply",
    "try_divide": "divide",
    "try_mod": "remainder",
}


@handles(exp.Anonymous, arguments="this expressions")
def bind_call(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    """Bind a function call by its name. Raises an error for a window function without OVER. For other names
    that can't be called: NotSupportedError if Spark has the function, else NOT_A_SCALAR_FUNCTION or
    UNRESOLVED_ROUTINE."""
    name = function_name(node)
    if any(part.is_star for part in node.expressions) and lookup_aggregate(name) is None and name in CALLABLE:
        node = _with_all_columns(binder, node)
    special = SPECIAL.get(name)
    if special is not None:
        function, least, most = special
        _refuse_distinct(name, node)
        check_count(name, len(node.expressions), least, most, node)
        return function(binder, node)
    if lookup_aggregate(name) is not None and name not in NOT_CALLABLE:
        return bind_aggregate(binder, node, name)
    if lookup_window(name) is not None:
        raise failure(
            "WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE",
            f'Window function "{binder.name(node)}" requires an OVER clause.',
            node,
        )
    name = _ALIASES.get(name, name)
    if name in GENERATORS:
        raise generators.misplaced(binder, node)
    if name in NOT_CALLABLE or registry.lookup(name) is None:
        routine = None if name in CALLABLE else routine_names.find_routine(binder, (function_name(node),))
        if routine is not None:
            return routine_calls.bind_routine(binder, routine, node)
        raise no_such_function(name, node)
    _refuse_distinct(name, node)
    return call_function(binder, name, binder.bind_all(node.expressions), node)


@handles(exp.Dot, arguments="this expression")
def bind_dot(binder: ExpressionBinder, node: exp.Dot) -> Expr:
    """Bind the access to a field of an expression's value, as in ``a[0].b``, or a function call with a
    qualified name."""
    field = node.expression
    if not isinstance(field, exp.Identifier):
        return routine_calls.qualified_call(binder, node)
    return field_of(binder, binder.bind(node.this), field.name, node)


@handles(exp.Kwarg, arguments="this expression")
def bind_named_argument(binder: ExpressionBinder, node: exp.Kwarg) -> Expr:
    """Raise an error for ``name => value`` in a call of one of Spark's functions: NotSupportedError for a
    function that has named arguments, else NAMED_PARAMETERS_NOT_SUPPORTED."""
    name = function_name(node.parent) if isinstance(node.parent, exp.Anonymous) else ""
    if not name or name in _NAMING:
        raise unsupported("An argument with a name", node)
    raise failure(
        "NAMED_PARAMETERS_NOT_SUPPORTED",
        f"Named parameters are not supported for function {quoted((name,))}; please retry the query with "
        "positional arguments to the function call instead.",
        node,
    )


def _with_all_columns(binder: ExpressionBinder, node: exp.Anonymous) -> exp.Anonymous:
    """Return the call with each star among its arguments, as in ``struct(*)`` or ``struct(t.*)``, replaced by
    the columns that the star means."""
    arguments: list[exp.Expr] = []
    for part in node.expressions:
        if not part.is_star:
            arguments.append(part)
            continue
        columns = columns_of_star(part, binder.scope)
        arguments += [exp.column(column.name, *reversed(column.qualifier), quoted=True) for column in columns]
    return exp.Anonymous(this=node.this, expressions=arguments)


def _refuse_distinct(name: str, node: exp.Anonymous) -> None:
    if node.expressions and isinstance(node.expressions[0], exp.Distinct):
        raise failure(
            "INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX",
            f"Invalid SQL syntax: The function {quoted((name,))} does not support DISTINCT.",
            node,
        )


# ---- calls outside of the registry


def _cast_function(kind: pa.DataType) -> CallBinder:
    def bind(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
        return explicit_cast(binder, binder.bind(node.expressions[0]), kind, node)

    return bind


def _run_value(kind: pa.DataType, name: str) -> CallBinder:
    return lambda binder, node: RunValue(kind, name)


def _arithmetic_function(name: str) -> CallBinder:
    operator = _ARITHMETIC_FUNCTIONS[name]

    def bind(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
        left, right = binder.bind_all(node.expressions)
        if name.startswith("try_") and any(types.is_string(side.type) for side in (left, right)):
            raise unsupported(f"{name} of strings", node)  # Spark also catches the errors of their casts
        typed = arithmetic(binder, operator, left, right, node)
        if isinstance(typed, Call) and typed.function == operator:
            return Call(typed.type, name, typed.arguments)
        return typed

    return bind


def _concat(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    return concatenation(binder, binder.bind_all(node.expressions), node, "concat")


def _assert_true(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    operands = binder.bind_all(node.expressions)
    if len(operands) == 1:
        operands.append(Literal(STRING, f"'{binder.name(node.expressions[0])}' is not true!"))
    return call_function(binder, "assert_true", operands, node)


def _cast(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    raise failure(
        "WRONG_NUM_ARGS.WITHOUT_SUGGESTION", "The `cast` takes `value AS type` in its parentheses.", node
    )


def _not(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    return binder.bind(exp.Not(this=node.expressions[0]))


def _unix_timestamp(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    operands = binder.bind_all(node.expressions) or [RunValue(TIMESTAMP, "current_timestamp")]
    return call_function(binder, "unix_timestamp", operands, node)


def _to_json(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    if len(node.expressions) > 1:
        raise unsupported("to_json with options", node)
    operand = binder.bind(node.expressions[0])
    if operand.type == types.VOID:
        return Literal(STRING, None)
    return call_function(binder, "to_json", [operand], node)


def _collation(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    operand = binder.bind(node.expressions[0])
    if operand.type not in (STRING, types.VOID):
        raise wrong_argument(binder, 0, STRING, operand, node)
    return Literal(STRING, "SYSTEM.BUILTIN.UTF8_BINARY")


def _input_file(kind: pa.DataType, value: object) -> CallBinder:
    """Return the binder of a function of the file being read; ``value`` is the function's value for rows that
    come from no file."""

    def bind(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
        for table, _ in binder.context.snapshots():
            if table.format not in _WITHOUT_FILES:
                raise unsupported(f"{function_name(node)} over a table of files", node)
        return Literal(kind, value)

    return bind


#: Formats of tables whose rows come from no file.
_WITHOUT_FILES: Final = frozenset({"arrow", "memory"})


#: The types of width_bucket's first three arguments.
_BOUND: Final = '("DOUBLE" or "INTERVAL YEAR TO MONTH" or "INTERVAL DAY TO SECOND")'


def _width_bucket(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    """Bind width_bucket over numbers, or over three intervals of one kind."""
    operands = binder.bind_all(node.expressions)
    bounds = operands[:3]
    coercion = binder.context.coercion
    for place, operand in enumerate(operands):
        required = BIGINT if place == len(bounds) else DOUBLE
        fits = types.is_interval(operand.type) and required == DOUBLE
        if not fits and coercion.implicit_cast(operand.type, required) is None:
            shown = _BOUND if required == DOUBLE else '"BIGINT"'
            raise argument_error(binder, place, shown, operand, node)
    if any(types.is_interval(bound.type) for bound in bounds) and not (
        all(types.is_year_month(bound.type) for bound in bounds)
        or all(types.is_day_time(bound.type) for bound in bounds)
    ):
        raise mixed_types(binder, "width_bucket", bounds, node)
    return call_function(binder, "width_bucket", operands, node)


def _typeof(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    return Literal(STRING, types.ddl(binder.bind(node.expressions[0]).type))


def _approx_top_k_estimate(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    return sketch_calls.bind_estimate(binder, node)


#: Functions that the binder turns into other expressions.
SPECIAL: Final[CallBinders] = {
    **CONDITIONAL_FUNCTIONS,
    **DATE_FUNCTIONS,
    **CONSTRUCTORS,
    **CALENDAR_INTERVALS,
    **COLLECTION_FUNCTIONS,
    **LAMBDA_FUNCTIONS,
    **RANDOM_VALUES,
    **SWITCHED_OFF,
    **TEXT_CONVERSIONS,
    **TIME_BUCKETS,
    **TIME_FUNCTIONS,
    **TIME_WINDOWS,
    **STRUCTURED_TEXTS,
    **VARIANT_FUNCTIONS,
    **{name: (_cast_function(kind), 1, 1) for name, kind in CAST_FUNCTIONS.items()},
    **{name: (_run_value(kind, shown), 0, 0) for name, (kind, shown) in RUN_VALUES.items()},
    **{name: (_arithmetic_function(name), 2, 2) for name in _ARITHMETIC_FUNCTIONS},
    "approx_top_k_estimate": (_approx_top_k_estimate, 1, 2),
    "assert_true": (_assert_true, 1, 2),
    "concat": (_concat, 0, None),
    "grouping": (bind_grouping_call, 1, 1),
    "grouping_id": (bind_grouping_call, 0, None),
    "cast": (_cast, 0, None),
    "try_cast": (_cast, 0, None),
    "collation": (_collation, 1, 1),
    "input_file_block_length": (_input_file(BIGINT, -1), 0, 0),
    "input_file_block_start": (_input_file(BIGINT, -1), 0, 0),
    "input_file_name": (_input_file(STRING, ""), 0, 0),
    "not": (_not, 1, 1),
    "to_json": (_to_json, 1, 2),
    "typeof": (_typeof, 1, 1),
    "width_bucket": (_width_bucket, 4, 4),
    "unix_timestamp": (_unix_timestamp, 0, 2),
}
