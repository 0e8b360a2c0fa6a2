"""Calls of every function of the registries with extremes as arguments."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Final

import msgspec
import pyarrow as pa

from sqlfront_values import types
from sqlfront_values.functions import registry
from sqlfront_values.functions.aggregates import registry as aggregates
from sqlfront_values.functions.registry import OPERATORS, ArgumentType, Kind
from sqlfront_values.functions.windows import registry as windows
from tests.fuzz.extreme_values import VALUES, column

_NUMBERS: Final = ("byte", "short", "whole", "long", "single", "real", "money", "wide")
_WHOLE: Final = ("byte", "short", "whole", "long")
_TIMES: Final = ("day", "moment", "local")
_ARRAYS: Final = ("wholes", "words", "reals", "nested", "voids", "deep", "structs")
_MAPS: Final = ("pairs", "ratios")
_ANY: Final = tuple(VALUES)
#: The types that arguments of a kind are taken from, mostly.
_KINDS: Final[dict[Kind, tuple[str, ...]]] = {
    Kind.NUMERIC: _NUMBERS,
    Kind.NUMERIC_OR_INTERVAL: (*_NUMBERS, "span", "months"),
    Kind.INTEGRAL: _WHOLE,
    Kind.INT_OR_BIGINT: ("whole", "long"),
    Kind.INT_OR_STRING: ("whole", "word"),
    Kind.BIGINT_OR_BYTES: ("long", "word", "raw", "text"),
    Kind.DOUBLE_OR_INTERVAL: ("real", "span", "months"),
    Kind.ORDINAL: (*_NUMBERS, *_TIMES, "span", "months"),
    Kind.DECIMAL_OR_DOUBLE: ("money", "wide", "real"),
    Kind.STRING_OR_BINARY: ("word", "raw", "text"),
    Kind.STRING_OR_STRINGS: ("word", "words", "text"),
    Kind.STRING_OR_ARRAY: ("word", "raw", *_ARRAYS),
    Kind.DATE_OR_TIMESTAMP: _TIMES,
    Kind.ANY_TIMESTAMP: ("moment", "local"),
    Kind.STRING_OR_DATETIME: ("word", *_TIMES),
    Kind.TIMESTAMP_SOURCE: (*_TIMES, "word", "whole", "real"),
    Kind.TIMESTAMP_TEXT: ("word", *_TIMES),
    Kind.INTEGRAL_OR_BOOLEAN: (*_WHOLE, "flag"),
    Kind.ARRAY: _ARRAYS,
    Kind.MAP: _MAPS,
    Kind.COLLECTION: (*_ARRAYS, *_MAPS),
    Kind.STRUCT: ("record",),
    Kind.COMMON_ARRAY: _ARRAYS,
    Kind.COMMON_MAP: _MAPS,
}
_TYPES: Final[dict[pa.DataType, tuple[str, ...]]] = {
    types.BOOLEAN: ("flag",),
    types.TINYINT: ("byte",),
    types.SMALLINT: ("short",),
    types.INT: ("whole",),
    types.BIGINT: ("long", "whole"),
    types.FLOAT: ("single",),
    types.DOUBLE: ("real",),
    types.STRING: ("word", "text"),
    types.BINARY: ("raw",),
    types.DATE: ("day",),
    types.TIMESTAMP: ("moment",),
    types.TIMESTAMP_NTZ: ("local",),
    pa.list_(types.STRING): ("words",),
}
#: The elements of arrays and the keys of maps.
_INSIDE: Final = {
    "wholes": "whole",
    "words": "word",
    "reals": "real",
    "nested": "wholes",
    "pairs": "word",
    "ratios": "real",
}
_INFIX: Final = frozenset(OPERATORS) - {
    "not",
    "negative",
    "is_null",
    "is_not_null",
    "in",
    "bit_not",
    "get_item",
    "get_value",
    "get_field",
    "get_fields",
}
#: Functions whose answer differs from call to call.
FREE: Final = frozenset({"rand", "random", "randn", "uuid", "shuffle", "monotonically_increasing_id"})
_SURPRISES: Final = 0.1
_NULLS: Final = 0.06


class Case(msgspec.Struct, frozen=True):
    """One statement over the table ``{t}``, or over none; ``fixed``: its answer is the same every time."""

    function: str
    sql: str
    over_table: bool
    fixed: bool


def functions() -> tuple[str, ...]:
    """The names of everything that is called."""
    return tuple(sorted({*registry.names(), *aggregates.aggregate_names(), *windows.window_names()}))


def cases(function: str, count: int, seed: int) -> Iterator[Case]:
    """That many calls of one function: of constants, of columns, and of both."""
    chance = random.Random(f"{seed} {function}")
    entry = (
        registry.lookup(function) or aggregates.lookup_aggregate(function) or windows.lookup_window(function)
    )
    assert entry is not None
    for number in range(count):
        over_table = number % 2 == 1
        kinds = _kinds(chance, entry.arguments, entry.optional, variadic=getattr(entry, "variadic", False))
        constants = getattr(entry, "constants", ())
        arguments = [
            _argument(chance, kind, as_column=over_table and place not in constants and chance.random() < 0.8)
            for place, kind in enumerate(kinds)
        ]
        sql = _statement(chance, function, arguments, over_table=over_table)
        yield Case(function, sql, over_table, function not in FREE)


def _kinds(
    chance: random.Random, declared: tuple[ArgumentType, ...], optional: int, *, variadic: bool
) -> list[str]:
    least = len(declared) - optional
    number = chance.randint(least, len(declared) + (2 if variadic else 0))
    if chance.random() < _SURPRISES / 4:
        number = max(0, number + chance.choice((-1, 1)))
    common = chance.choice(_ANY)
    found: list[str] = []
    for place in range(number):
        wanted = declared[min(place, len(declared) - 1)] if declared else Kind.ANY
        kind = _kind(chance, wanted, common)
        if wanted in (Kind.COMMON_ARRAY, Kind.COMMON_MAP) or (place == 0 and wanted is Kind.MAP):
            common = _INSIDE.get(kind, kind)
        found.append(kind)
    return found


def _kind(chance: random.Random, wanted: ArgumentType, common: str) -> str:
    if chance.random() < _SURPRISES or wanted is Kind.ANY:
        return chance.choice(_ANY)
    if wanted is Kind.COMMON:
        return common
    known = _KINDS.get(wanted) if isinstance(wanted, Kind) else _TYPES.get(wanted)
    return chance.choice(known or _ANY)


def _argument(chance: random.Random, kind: str, *, as_column: bool) -> str:
    if as_column and kind not in ("void", "text"):
        return column(kind, chance.randint(0, 1))
    return "NULL" if chance.random() < _NULLS else chance.choice(VALUES[kind])


def _statement(chance: random.Random, function: str, arguments: list[str], *, over_table: bool) -> str:
    source = " FROM {t}" if over_table else ""
    if windows.lookup_window(function) is not None and aggregates.lookup_aggregate(function) is None:
        return (
            f"SELECT {_call(function, arguments)} OVER (ORDER BY {column('whole', 0)}){source or ' FROM {t}'}"
        )
    if aggregates.lookup_aggregate(function) is None or registry.lookup(function) is not None:
        return f"SELECT {_call(function, arguments)}{source}"
    distinct = "DISTINCT " if arguments and chance.random() < 0.3 else ""
    call = f"{function}({distinct}{', '.join(arguments)})"
    match chance.randint(0, 3) if over_table else 0:
        case 1:
            return f"SELECT {column('word', 0)}, {call}{source} GROUP BY {column('word', 0)}"
        case 2:
            return f"SELECT {call} FILTER (WHERE {column('flag', 0)}){source}"
        case 3:
            frame = f"OVER (PARTITION BY {column('flag', 0)})"
            return f"SELECT {call} {frame}{source}"
        case _:
            return f"SELECT {call}{source}"


def _call(function: str, arguments: list[str]) -> str:
    if function in _INFIX and len(arguments) == 2:
        return f"({arguments[0]} {OPERATORS[function]} {arguments[1]})"
    match function, arguments:
        case "not" | "negative" | "bit_not", [only]:
            return f"({OPERATORS[function]} {only})"
        case "is_null" | "is_not_null", [only]:
            return f"({only} {OPERATORS[function]})"
        case "in", [first, *others] if others:
            return f"({first} IN ({', '.join(others)}))"
        case "get_item" | "get_value", [first, second]:
            return f"{first}[{second}]"
        case "get_field" | "get_fields", [first, *_]:
            return f"({first}).a"
        case "timestampadd", [_, *others]:
            return f"timestampadd(MONTH, {', '.join(others)})"
        case _:
            return f"{function}({', '.join(arguments)})"
