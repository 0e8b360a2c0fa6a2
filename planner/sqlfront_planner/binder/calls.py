"""Function calls: the registry's scalar functions, and those that are something else in another dress."""

from collections.abc import Callable, Sequence
from typing import Final

import pyarrow as pa
from sqlglot import exp

from sqlfront_engine import types
from sqlfront_engine.expressions import Call, Cast, Expr, Literal, RunValue
from sqlfront_engine.functions import registry
from sqlfront_engine.functions.aggregates import lookup_aggregate
from sqlfront_engine.functions.windows import lookup_window
from sqlfront_engine.types import BIGINT, DATE, INT, STRING, TIMESTAMP, TIMESTAMP_NTZ, is_integral
from sqlfront_planner.binder.aggregates import bind_aggregate, bind_grouping_call
from sqlfront_planner.binder.arguments import (
    NOT_CALLABLE,
    call_function,
    check_count,
    function_name,
    mixed_types,
    unresolved_routine,
)
from sqlfront_planner.binder.casts import explicit_cast
from sqlfront_planner.binder.collections import COLLECTION_FUNCTIONS
from sqlfront_planner.binder.conditionals import CONDITIONAL_FUNCTIONS
from sqlfront_planner.binder.expressions import ExpressionBinder, cast_to
from sqlfront_planner.binder.operators import arithmetic, concatenation
from sqlfront_planner.binder.suggestions import quoted
from sqlfront_planner.binder.syntax import failure, handles, unsupported
from sqlfront_planner.types import common_type

_ALIASES: Final = {"regexp": "rlike"}

#: ``int(x)`` is a cast.
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
}

#: Functions whose value is fixed once per run; the type, and the name that result columns show.
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
    "version": (STRING, "version"),
}

#: Functions that coerce their two operands as an arithmetic operator does.
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

#: EXTRACT's fields by the function that computes them.
_FIELDS: Final = {
    **dict.fromkeys(("YEAR", "Y", "YEARS", "YR", "YRS"), "year"),
    **dict.fromkeys(("QUARTER", "QTR"), "quarter"),
    **dict.fromkeys(("MONTH", "MON", "MONS", "MONTHS"), "month"),
    **dict.fromkeys(("WEEK", "W", "WEEKS"), "weekofyear"),
    **dict.fromkeys(("DAY", "D", "DAYS"), "dayofmonth"),
    **dict.fromkeys(("DAYOFWEEK", "DOW"), "dayofweek"),
    **dict.fromkeys(("DAYOFWEEK_ISO", "DOW_ISO"), "dayofweek_iso"),
    "DOY": "dayofyear",
    **dict.fromkeys(("HOUR", "H", "HOURS", "HR", "HRS"), "hour"),
    **dict.fromkeys(("MINUTE", "M", "MIN", "MINS", "MINUTES"), "minute"),
    **dict.fromkeys(("SECOND", "S", "SEC", "SECONDS", "SECS"), "second_with_fraction"),
    "YEAROFWEEK": "year_of_week",
}

#: What fields of intervals are computed by, by the function for dates and timestamps.
_INTERVAL_FIELDS: Final = {
    types.YEAR_MONTH_INTERVAL: {"year": "interval_year", "month": "interval_month"},
    types.DAY_TIME_INTERVAL: {
        "dayofmonth": "interval_day",
        "hour": "interval_hour",
        "minute": "interval_minute",
        "second_with_fraction": "interval_second",
    },
}


@handles(exp.Anonymous, arguments="this expressions")
def bind_call(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    """A function call by its name as written."""
    name = function_name(node)
    special = _SPECIAL.get(name)
    if special is not None:
        function, least, most = special
        _refuse_distinct(name, node)
        check_count(name, len(node.expressions), least, most, node)
        return function(binder, node)
    if lookup_aggregate(name) is not None:
        return bind_aggregate(binder, node, name)
    if lookup_window(name) is not None:
        raise failure(
            "WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE",
            f'Window function "{binder.name(node)}" requires an OVER clause.',
            node,
        )
    name = _ALIASES.get(name, name)
    if name in NOT_CALLABLE or registry.lookup(name) is None:
        raise unresolved_routine(name, node)
    _refuse_distinct(name, node)
    return call_function(binder, name, binder.bind_all(node.expressions), node)


def _refuse_distinct(name: str, node: exp.Anonymous) -> None:
    if node.expressions and isinstance(node.expressions[0], exp.Distinct):
        raise failure(
            "INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX",
            f"Invalid SQL syntax: The function {quoted((name,))} does not support DISTINCT.",
            node,
        )


# ---- calls that aren't registry entries


Special = Callable[[ExpressionBinder, exp.Anonymous], Expr]


def _cast_function(kind: pa.DataType) -> Special:
    def bind(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
        return explicit_cast(binder, binder.bind(node.expressions[0]), kind, node)

    return bind


def _run_value(kind: pa.DataType, name: str) -> Special:
    return lambda binder, node: RunValue(kind, name)


def _arithmetic_function(name: str) -> Special:
    operator = _ARITHMETIC_FUNCTIONS[name]

    def bind(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
        left, right = binder.bind_all(node.expressions)
        typed = arithmetic(binder, operator, left, right, node)
        assert isinstance(typed, Call)
        return typed if typed.function != operator else Call(typed.type, name, typed.arguments)

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


def _typeof(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    return Literal(STRING, types.ddl(binder.bind(node.expressions[0]).type))


def _date_part(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    field, source = binder.bind_all(node.expressions)
    field = binder.context.known_value(field)
    if not isinstance(field, Literal) or not isinstance(field.value, str):
        raise failure(
            "NON_FOLDABLE_ARGUMENT",
            "The function `date_part` requires a constant string as its first argument.",
            node,
        )
    return extract(binder, field.value, source, node)


@handles(exp.Extract, arguments="this expression")
def bind_extract(binder: ExpressionBinder, node: exp.Extract) -> Expr:
    """``EXTRACT(field FROM source)``."""
    return extract(binder, node.this.name, binder.bind(node.expression), node)


def extract(binder: ExpressionBinder, field: str, source: Expr, node: exp.Expr) -> Expr:
    """A field of a date or timestamp."""
    function = _FIELDS.get(field.upper())
    if types.is_interval(source.type):
        function = _INTERVAL_FIELDS[source.type].get(function or "")
    if function is None:
        raise failure(
            "INVALID_EXTRACT_FIELD",
            f"Cannot extract `{field}` from a value of type {types.ddl(source.type)}.",
            node,
        )
    return call_function(binder, function, [source], node)


def _struct(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    """``struct(a, b + 1, c AS d)``: fields are named as columns would be, others ``col1``, ``col2``, ..."""
    names, values = [], []
    for place, part in enumerate(node.expressions, 1):
        inner = part.this if isinstance(part, exp.Alias) else part
        values.append(binder.bind(inner))
        named = isinstance(part, exp.Alias | exp.Column | exp.Dot)
        names.append(part.output_name if named and part.output_name else f"col{place}")
    return struct_of(names, values)


def struct_of(names: Sequence[str], values: Sequence[Expr]) -> Expr:
    """A struct of bound values."""
    kind = pa.struct([(name, value.type) for name, value in zip(names, values, strict=True)])
    return Call(kind, "struct", tuple(values))


def _named_struct(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    operands = binder.bind_all(node.expressions)
    names = []
    for operand in map(binder.context.known_value, operands[::2]):
        if not isinstance(operand, Literal) or not isinstance(operand.value, str):
            raise failure(
                "DATATYPE_MISMATCH.CREATE_NAMED_STRUCT_WITHOUT_FOLDABLE_STRING",
                "Only foldable `STRING` expressions are allowed to appear at odd position.",
                node,
            )
        names.append(operand.value)
    if len(operands) % 2:
        raise failure(
            "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
            f"The `named_struct` requires 2n (n > 0) parameters but the actual number is {len(operands)}.",
            node,
        )
    return struct_of(names, operands[1::2])


def _array(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    items = binder.bind_all(node.expressions)
    kind = common_type(item.type for item in items)
    if kind is None:
        raise mixed_types(binder, "array", items, node)
    return Call(pa.list_(kind), "array", tuple(cast_to(item, kind) for item in items))


def _map(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    operands = binder.bind_all(node.expressions)
    keys, items = operands[::2], operands[1::2]
    key_type, item_type = (common_type(part.type for part in side) for side in (keys, items))
    if len(operands) % 2 or key_type is None or item_type is None:
        raise mixed_types(binder, "map", operands, node)
    if key_type == types.VOID:
        raise unsupported("A map without a type of keys", node)
    pairs = (
        (cast_to(key, key_type), cast_to(item, item_type)) for key, item in zip(keys, items, strict=True)
    )
    return Call(pa.map_(key_type, item_type), "map", tuple(part for pair in pairs for part in pair))


@handles(exp.Tuple, arguments="expressions")
def bind_tuple(binder: ExpressionBinder, node: exp.Tuple) -> Expr:
    """``(1, 2)`` is a struct of ``col1`` and ``col2``."""
    values = binder.bind_all(node.expressions)
    return struct_of([f"col{place}" for place in range(1, len(values) + 1)], values)


@handles(exp.Substring, arguments="this start length")
def bind_substring(binder: ExpressionBinder, node: exp.Substring) -> Expr:
    """``SUBSTRING(s FROM start FOR length)``."""
    parts = [node.this, node.args["start"], node.args.get("length")]
    return call_function(binder, "substring", [binder.bind(part) for part in parts if part is not None], node)


@handles(exp.Trim, arguments="this expression position")
def bind_trim(binder: ExpressionBinder, node: exp.Trim) -> Expr:
    """``TRIM([BOTH | LEADING | TRAILING] [characters] FROM s)``."""
    position = str(node.args.get("position") or "BOTH").upper()
    operand, characters = binder.bind(node.this), node.args.get("expression")
    operands = [operand] if characters is None else [binder.bind(characters), operand]
    function = {"BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}[position]
    if function == "trim" and len(operands) == 2:
        function, operands = "btrim", operands[::-1]
    return call_function(binder, function, operands, node)


@handles(exp.StrPosition, arguments="this substr")
def bind_position(binder: ExpressionBinder, node: exp.StrPosition) -> Expr:
    """``POSITION(part IN s)``."""
    operands = [binder.bind(node.args["substr"]), binder.bind(node.this)]
    return call_function(binder, "locate", operands, node)


@handles(exp.Overlay, arguments="this expression from_ for_")
def bind_overlay(binder: ExpressionBinder, node: exp.Overlay) -> Expr:
    """``OVERLAY(s PLACING t FROM start FOR length)``."""
    parts = [node.this, node.expression, node.args["from_"], node.args.get("for_")]
    return call_function(binder, "overlay", [binder.bind(part) for part in parts if part is not None], node)


# ---- units as first argument


def _unit(node: exp.Anonymous) -> str | None:
    """The unit of ``timestampadd(MONTH, ...)``, None if the first argument isn't one."""
    first = node.expressions[0] if node.expressions else None
    if len(node.expressions) != 3 or not isinstance(first, exp.Column) or first.args.get("table"):
        return None
    return str(first.name) if first.name.upper() in _UNITS else None


def with_unit(name: str, node: exp.Anonymous) -> str | None:
    """The function that a date function with a unit means: ``timestampadd`` or ``timestampdiff``."""
    if _unit(node) is None:
        return None
    return _WITH_UNIT.get(name)


_UNITS: Final = frozenset(
    (
        "YEAR",
        "QUARTER",
        "MONTH",
        "WEEK",
        "DAY",
        "DAYOFYEAR",
        "HOUR",
        "MINUTE",
        "SECOND",
        "MILLISECOND",
        "MICROSECOND",
    )
)
_UNIT_ONLY: Final = frozenset({"timestampadd", "timestampdiff", "timediff"})
_WITH_UNIT: Final = {
    "timestampadd": "timestampadd",
    "dateadd": "timestampadd",
    "date_add": "timestampadd",
    "timestampdiff": "timestampdiff",
    "datediff": "timestampdiff",
    "date_diff": "timestampdiff",
    "timediff": "timestampdiff",
}


def _date_function(name: str) -> Special:
    def bind(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
        function, unit = with_unit(name, node), _unit(node)
        if function is not None and unit is not None:
            operands = binder.bind_all(node.expressions[1:])
            return call_function(binder, function, [Literal(STRING, unit.upper()), *operands], node)
        if name in _UNIT_ONLY:
            raise unresolved_routine(name, node)
        operands = binder.bind_all(node.expressions)
        plain = {"dateadd": "date_add", "date_diff": "datediff"}.get(name, name)
        if plain == "date_add" and len(operands) == 2:
            operands[1] = _days(binder, operands[1], node)
        return call_function(binder, plain, operands, node)

    return bind


def _date_sub(binder: ExpressionBinder, node: exp.Anonymous) -> Expr:
    operands = binder.bind_all(node.expressions)
    return call_function(binder, "date_sub", [operands[0], _days(binder, operands[1], node)], node)


def _days(binder: ExpressionBinder, operand: Expr, node: exp.Expr) -> Expr:
    """The number of days for date_add and date_sub: int or smaller, or a string."""
    small = is_integral(operand.type) and operand.type != BIGINT
    if not small and operand.type not in (types.VOID, STRING):
        raise failure(
            "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
            f'Cannot resolve "{binder.name(node)}" due to data type mismatch: The second parameter requires '
            'the ("INT" or '
            f'"SMALLINT" or "TINYINT") type, however it has the type "{types.sql_name(operand.type)}".',
            node,
        )
    return Cast(INT, operand) if operand.type == STRING else cast_to(operand, INT)


_SPECIAL: Final[dict[str, tuple[Special, int, int | None]]] = {
    **CONDITIONAL_FUNCTIONS,
    **COLLECTION_FUNCTIONS,
    **{name: (_cast_function(kind), 1, 1) for name, kind in CAST_FUNCTIONS.items()},
    **{name: (_run_value(kind, shown), 0, 0) for name, (kind, shown) in RUN_VALUES.items()},
    **{name: (_arithmetic_function(name), 2, 2) for name in _ARITHMETIC_FUNCTIONS},
    **{name: (_date_function(name), 2, 3) for name in _WITH_UNIT},
    "date_sub": (_date_sub, 2, 2),
    "assert_true": (_assert_true, 1, 2),
    "concat": (_concat, 0, None),
    "grouping": (bind_grouping_call, 1, 1),
    "grouping_id": (bind_grouping_call, 0, None),
    "cast": (_cast, 0, None),
    "try_cast": (_cast, 0, None),
    "not": (_not, 1, 1),
    "typeof": (_typeof, 1, 1),
    "date_part": (_date_part, 2, 2),
    "datepart": (_date_part, 2, 2),
    "struct": (_struct, 0, None),
    "named_struct": (_named_struct, 2, None),
    "array": (_array, 0, None),
    "map": (_map, 0, None),
}
