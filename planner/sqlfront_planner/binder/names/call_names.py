"""Spark's text of function calls in names of result columns: the function's displayed name, the arguments,
and the default arguments that Spark adds."""

import re
from collections.abc import Callable, Sequence
from typing import Final

import pyarrow as pa
from sqlglot import exp

from sqlfront_planner.binder.names import lambda_names, routine_names
from sqlfront_planner.binder.names.shown_names import quoted
from sqlfront_planner.binder.names.spark_functions import CALLABLE
from sqlfront_planner.binder.protocols import Binder
from sqlfront_planner.binder.scope import star_columns
from sqlfront_planner.tokens.marks import FUNCTION_MARK
from sqlfront_planner.types import DATETIMES
from sqlfront_values import types
from sqlfront_values.expressions import Call
from sqlfront_values.functions import registry
from sqlfront_values.functions.aggregates.registry import lookup_aggregate
from sqlfront_values.functions.windows.registry import lookup_window

Text = Callable[[exp.Expr], str]

#: Functions with another name in result columns than the written one.
_SHOWN: Final = {
    **{
        name: name.upper()
        for name in [
            "acos",
            "acosh",
            "asin",
            "asinh",
            "atan",
            "atan2",
            "atanh",
            "cbrt",
            "cos",
            "cosh",
            "cot",
            "csc",
            "degrees",
            "e",
            "exp",
            "expm1",
            "hypot",
            "log10",
            "log1p",
            "log2",
            "pi",
            "power",
            "radians",
            "sec",
            "signum",
            "sin",
            "sinh",
            "sqrt",
            "tan",
            "tanh",
            "regexp_like",
            "rlike",
            "spark_partition_id",
        ]
    },
    "random": "rand",
    "array_agg": "collect_list",
    "dateadd": "date_add",
    "curdate": "current_date",
    "localtime": "current_time",
    "current_database": "current_schema",
    "regexp": "REGEXP",
}

#: Default arguments that Spark adds: by function, the number of arguments in a call without them, and their
#: text.
_DEFAULTS: Final[dict[str, tuple[int, tuple[str, ...]]]] = {
    "round": (1, ("0",)),
    "bround": (1, ("0",)),
    "substring": (2, ("2147483647",)),
    "substr": (2, ("2147483647",)),
    "split": (2, ("-1",)),
    "replace": (2, ("",)),
    "locate": (2, ("1",)),
    "position": (2, ("1",)),
    "overlay": (3, ("-1",)),
    "regexp_replace": (3, ("1",)),
    "regexp_extract": (2, ("1",)),
    "regexp_instr": (2, ("0",)),
    "regexp_extract_all": (2, ("1",)),
    "months_between": (2, ("true",)),
    "unix_timestamp": (1, ("yyyy-MM-dd HH:mm:ss",)),
    "to_unix_timestamp": (1, ("yyyy-MM-dd HH:mm:ss",)),
    "from_unixtime": (1, ("yyyy-MM-dd HH:mm:ss",)),
    "make_dt_interval": (0, ("0", "0", "0", "0.000000")),
    "make_interval": (0, ("0", "0", "0", "0", "0", "0", "0.000000")),
    "try_make_interval": (0, ("0", "0", "0", "0", "0", "0", "0.000000")),
    "make_ym_interval": (0, ("0", "0")),
    "mask": (1, ("X", "x", "n", "NULL")),
    "sort_array": (1, ("true",)),
    "str_to_map": (1, (",", ":")),
    "aes_encrypt": (2, ("GCM", "DEFAULT", "", "")),
    "aes_decrypt": (2, ("GCM", "DEFAULT", "")),
    "try_aes_decrypt": (2, ("GCM", "DEFAULT", "")),
    "hmac": (2, ("SHA-256",)),
    "variant_set": (3, ("true",)),
    "try_variant_set": (3, ("true",)),
    "variant_strip_nulls": (1, ("true",)),
    "approx_top_k_estimate": (1, ("5",)),
    "sentences": (1, ("", "")),
    "hll_union": (2, ("false",)),
    "theta_union": (2, ("12",)),
    "current_time": (0, ("6",)),
    "localtime": (0, ("6",)),
    "vector_norm": (1, ("2.0",)),
    "vector_normalize": (1, ("2.0",)),
}
_CAST_FUNCTIONS: Final = frozenset(
    [
        "boolean",
        "tinyint",
        "smallint",
        "int",
        "bigint",
        "float",
        "double",
        "decimal",
        "string",
        "binary",
        "date",
        "timestamp",
        "time",
    ]
)
#: Ranking functions whose arguments Spark checks, and neither reads nor displays.
UNREAD_ARGUMENTS: Final = frozenset({"rank", "dense_rank", "percent_rank"})
#: Functions whose constant arguments, a schema or options, are not displayed.
_FIRST_ONLY: Final = frozenset(
    {
        *("from_csv", "from_json", "from_xml", "schema_of_csv", "schema_of_json", "schema_of_xml"),
        *("to_csv", "to_json", "to_xml"),
    }
)
_PLAIN_NAME: Final = re.compile("[a-zA-Z_][a-zA-Z0-9_]*")
#: Functions whose first argument may be a unit, by the name as written; the function with a unit.
UNIT_FUNCTIONS: Final = {
    "timestampadd": "timestampadd",
    "dateadd": "timestampadd",
    "date_add": "timestampadd",
    "timestampdiff": "timestampdiff",
    "datediff": "timestampdiff",
    "date_diff": "timestampdiff",
    "timediff": "timestampdiff",
}


def call_text(node: exp.Expr, binder: Binder, text: Text) -> str:
    """Return the text of a function call as Spark writes it in the name of a result column. ``text`` returns
    the text of an argument's node."""
    written = node.this if isinstance(node.this, str) else node.this.name
    name = str(written).removeprefix(FUNCTION_MARK).lower()
    if name not in CALLABLE and isinstance(node, exp.Anonymous):
        routine = routine_names.find_routine(binder, (name,))
        if routine is not None:
            return routine_names.routine_text(binder, routine, node, text)
    if lambda_names.takes_lambdas(name, len(node.expressions)):
        return f"{name}({', '.join(lambda_names.argument_texts(name, node, text))})"
    if name in ("window", "session_window"):  # the names of the columns that stand for the calls
        return name
    special = _CALLS.get(name)
    if special is not None and len(node.expressions) in special[0]:
        return special[1]([text(part) for part in node.expressions])
    if name in _CAST_FUNCTIONS and len(node.expressions) == 1:
        return text(node.expressions[0])
    if name in UNIT_FUNCTIONS and len(node.expressions) == 3:
        unit, *rest = node.expressions
        return f"{UNIT_FUNCTIONS[name]}({unit.name}, {_list(rest, text)})"
    if name in ("datepart", "extract") and len(node.expressions) == 2:
        return f"{name}({text(node.expressions[0])} FROM {text(node.expressions[1])})"
    if name in _FIRST_ONLY and node.expressions:
        if name == "from_json" and pa.types.is_map(binder.bind(node).type):
            return "entries"
        return f"{name}({text(node.expressions[0])})"
    if name in ("variant_get", "try_variant_get"):  # the third argument is a type
        return f"{name}({_list(node.expressions[:2], text)})"
    if name == "count" and [type(part) for part in node.expressions] == [exp.Star]:
        return "count(1)"
    if name in ("to_char", "to_varchar") and len(node.expressions) == 2:
        return _to_char(node, binder, text)
    if name == "time_bucket" and len(node.expressions) == 2:
        kind = (
            "TIMESTAMP_NTZ" if binder.bind(node.expressions[1]).type == types.TIMESTAMP_NTZ else "TIMESTAMP"
        )
        return f"time_bucket({_list(node.expressions, text)}, {kind} '1970-01-01 00:00:00')"
    if name in ("lpad", "rpad") and len(node.expressions) == 2:
        padding = "X'00'" if binder.bind(node.expressions[0]).type == types.BINARY else " "
        return f"{name}({_list(node.expressions, text)}, {padding})"
    if name == "mode" and len(node.expressions) == 2:
        return _mode(node, binder, text)
    arguments, distinct = _arguments(node, binder, text)
    if name == "struct":
        fields = [] if any(part.is_star for part in node.expressions) else node.expressions
        arguments = [_struct_field(part, text) for part in fields] if fields else arguments
    if name in UNREAD_ARGUMENTS:
        arguments = []
    shown, defaults = _shown(name, len(arguments))
    entry = lookup_aggregate(name)
    if entry is not None:
        hidden = set(entry.hidden)
        arguments = [text for place, text in enumerate(arguments) if place not in hidden]
    return f"{shown}({'DISTINCT ' if distinct else ''}{', '.join([*arguments, *defaults])})"


def _to_char(node: exp.Expr, binder: Binder, text: Text) -> str:
    """Return the text of to_char: that of the function by which Spark replaces it for the first argument's
    type."""
    value, form = map(text, node.expressions)
    kind = binder.bind(node.expressions[0]).type
    if kind in DATETIMES or types.is_time(kind):
        return f"date_format({value}, {form})"
    if kind != types.BINARY:
        return f"to_char({value}, {form})"
    call = binder.bind(node)
    assert isinstance(call, Call)
    written = str(node.this).removeprefix(FUNCTION_MARK).lower()
    name = call.function if written == "to_char" else written
    return f"{name}({', '.join([value, form][: len(call.arguments)])})"


def within_group_text(node: exp.Expr, binder: Binder, text: Text) -> str:
    """Return the text of a call with WITHIN GROUP. Spark shows percentiles with the direction only if they
    descend, and ``mode`` with the direction in which it prefers equally frequent values, which is the
    other."""
    name = str(node.this.this).removeprefix(FUNCTION_MARK).lower()
    shown = call_text(node.this, binder, text)
    if name in ("percentile_cont", "percentile_disc", "mode"):
        item = node.expression.expressions[0]
        descends = bool(item.args.get("desc")) != (name == "mode")
        return f"{shown} WITHIN GROUP (ORDER BY {text(item.this)}{' DESC' if descends else ''})"
    shown = shown.replace("string_agg(", "listagg(", 1) if name == "string_agg" else shown
    keys = ", ".join(ordered_text(item, text) for item in node.expression.expressions)
    return f"{shown} WITHIN GROUP (ORDER BY {keys})"


def ordered_text(item: exp.Expr, text: Text) -> str:
    """Return the text of an item of ORDER BY, with its direction and the place of nulls."""
    direction = "DESC" if item.args.get("desc") else "ASC"
    nulls = "FIRST" if item.args.get("nulls_first") else "LAST"
    return f"{text(item.this)} {direction} NULLS {nulls}"


def _mode(node: exp.Expr, binder: Binder, text: Text) -> str:
    """Return the text of ``mode(x, deterministic)``."""
    value, deterministic = node.expressions
    known = binder.context.known_value(binder.bind(deterministic))
    if getattr(known, "value", False):
        return f"mode() WITHIN GROUP (ORDER BY {text(value)} DESC)"
    return f"mode({text(value)})"


def _arguments(node: exp.Expr, binder: Binder, text: Text) -> tuple[list[str], bool]:
    """Return the texts of a call's arguments (a star gives the names of all its columns), and whether the
    call has DISTINCT."""
    nodes, distinct = node.expressions, False
    if len(nodes) == 1 and isinstance(nodes[0], exp.Distinct):
        nodes, distinct = nodes[0].expressions, True
    texts: list[str] = []
    for part in nodes:
        if part.is_star:
            texts += [column.name for column in star_columns(part, binder.scope)]
        else:
            texts.append(text(part))
    return texts, distinct


def _struct_field(part: exp.Expr, text: Text) -> str:
    if isinstance(part, exp.Alias):
        name = part.alias if _PLAIN_NAME.fullmatch(part.alias) else quoted([part.alias])
        return f"{text(part.this)} AS {name}"
    return text(part)


def _shown(name: str, count: int) -> tuple[str, tuple[str, ...]]:
    """Return the name by which Spark shows the function ``name`` in a call with ``count`` arguments, and the
    texts of the default arguments that Spark shows after the arguments."""
    entry = lookup_aggregate(name) or lookup_window(name)
    if entry is not None:
        missing = count - (len(entry.arguments) - entry.optional)
        defaults = entry.shown_defaults[missing:] if entry.optional else entry.shown_defaults
        return entry.display or _SHOWN.get(name, name), tuple(defaults)
    least, defaults = _DEFAULTS.get(name, (0, ()))
    shown = _SHOWN.get(name)
    if shown is None:
        scalar = registry.lookup(name)
        shown = (scalar.display if scalar is not None else None) or name
        shown = name if shown in registry.OPERATORS.values() else shown
    return shown, defaults[max(count - least, 0) :]


def _list(nodes: Sequence[exp.Expr], text: Text) -> str:
    return ", ".join(map(text, nodes))


def _if(arguments: list[str]) -> str:
    return f"(IF({', '.join(arguments)}))"


def _array_sort(arguments: list[str]) -> str:
    """Return the text of ``array_sort`` for a call with one argument, the array: Spark also shows the lambda
    of its default comparison."""
    item = "namedlambdavariable()"
    compared = f"(IF(({item} < {item}), -1, (IF(({item} > {item}), 1, 0))))"
    nulls = f"(IF(({item} IS NULL), 1, (IF(({item} IS NULL), -1, {compared}))))"
    rule = f"(IF((({item} IS NULL) AND ({item} IS NULL)), 0, {nulls}))"
    return f"array_sort({arguments[0]}, lambdafunction({rule}, {item}, {item}))"


def _like_call(arguments: list[str]) -> str:
    escape = shown_escape(arguments[2]) if len(arguments) == 3 else ""
    return f"{arguments[0]} LIKE {arguments[1]}{escape}"


def shown_escape(character: str) -> str:
    """Return the end of the text of a LIKE with this escape character; empty for the default, a backslash."""
    return "" if character == "\\" else f" ESCAPE '{character}'"


def _log(arguments: list[str]) -> str:
    return f"LOG({', '.join(arguments if len(arguments) == 2 else ['E()', *arguments])})"


def _trim_of(position: str) -> Callable[[list[str]], str]:
    return lambda arguments: f"TRIM({position} {arguments[0]} FROM {arguments[1]})"


#: Calls that aren't displayed as calls: the numbers of arguments, and the text from the arguments' texts.
_CALLS: Final[dict[str, tuple[tuple[int, ...], Callable[[list[str]], str]]]] = {
    "if": ((3,), _if),
    "array_sort": ((1,), _array_sort),
    "isnull": ((1,), lambda arguments: f"({arguments[0]} IS NULL)"),
    "isnotnull": ((1,), lambda arguments: f"({arguments[0]} IS NOT NULL)"),
    "not": ((1,), lambda arguments: f"(NOT {arguments[0]})"),
    "div": ((2,), lambda arguments: f"({arguments[0]} div {arguments[1]})"),
    "like": ((2, 3), _like_call),
    "ilike": ((3,), lambda arguments: f"ilike({arguments[0]}, {arguments[1]})"),
    "convert_timezone": (
        (2,),
        lambda arguments: f"convert_timezone(current_timezone(), {arguments[0]}, {arguments[1]})",
    ),
    "raise_error": (
        (1,),
        lambda arguments: f"raise_error(USER_RAISED_EXCEPTION, map(errorMessage, {arguments[0]}))",
    ),
    "try_make_timestamp": ((7,), lambda arguments: f"try_make_timestamp({', '.join(arguments[:6])})"),
    "make_timestamp_ltz": ((2, 3), lambda arguments: f"make_timestamp({', '.join(arguments)})"),
    "try_make_timestamp_ltz": ((2, 3), lambda arguments: f"make_timestamp({', '.join(arguments)})"),
    "try_make_timestamp_ntz": (
        (2,),
        lambda arguments: f"try_make_timestamp_ntz(make_timestamp_ntz({', '.join(arguments)}))",
    ),
    "try_to_time": ((1, 2), lambda arguments: f"try_to_time(to_time({', '.join(arguments)}))"),
    "shuffle": ((2,), lambda arguments: f"shuffle({arguments[0]})"),
    "instr": ((3,), lambda arguments: f"instr({', '.join(arguments)}, 1)"),
    "positive": ((1,), lambda arguments: f"(+ {arguments[0]})"),
    "ceil": ((1,), lambda arguments: f"CEIL({arguments[0]})"),
    "floor": ((1,), lambda arguments: f"FLOOR({arguments[0]})"),
    "log": ((1, 2), _log),
    "trim": ((2,), _trim_of("BOTH")),
    "ltrim": ((2,), _trim_of("LEADING")),
    "rtrim": ((2,), _trim_of("TRAILING")),
    "assert_true": ((1,), lambda arguments: f"assert_true({arguments[0]}, '{arguments[0]}' is not true!)"),
    "unix_timestamp": ((0,), lambda arguments: "unix_timestamp(current_timestamp(), yyyy-MM-dd HH:mm:ss)"),
}
