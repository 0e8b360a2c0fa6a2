"""Scalar functions by example: a table of calls with their answers, checked on kernels and on Spark.

A table maps a registry name to rows of arguments followed by the answer: ``{"substring": [("hello", 2, 3,
"ell")]}``. The answer is a Python value (:class:`Typed` if of another type than the entry's) or
:class:`Fails`. Python values stand for the types of :func:`type_of`; ``Typed`` says another one.

:func:`check` runs a call in every form that a kernel must accept: constants only, columns only, the first
argument a column and the others constants, columns that are slices, columns long enough for the ways by
distinct values, and columns with nulls. :func:`sql_of` writes a call as SQL, so that a live Spark can be
asked the same.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

import pyarrow as pa
import pytest

from sqlfront_values.arrow.arrays import from_values, scalar
from sqlfront_values.arrow.forms import Datum
from sqlfront_values.casts.interval_texts import interval_text
from sqlfront_values.errors import DatabaseError
from sqlfront_values.functions import registry
from sqlfront_values.functions.registry import ScalarFunction, Signature
from sqlfront_values.settings import Settings
from sqlfront_values.types import DAY_TIME_INTERVAL, TIMESTAMP, TIMESTAMP_NTZ, IntervalType, ddl, physical

LONG = 150


@dataclass(frozen=True)
class Fails:
    """The answer is an error with this condition of Spark's."""

    condition: str | None


@dataclass(frozen=True)
class Typed:
    """A value of a type that its Python value does not say."""

    value: object
    type: pa.DataType


@dataclass(frozen=True)
class Case:
    """One call and its answer."""

    name: str
    arguments: tuple[object, ...]
    answer: object
    zone: str = "UTC"

    def __str__(self) -> str:
        return sql_of(self)


Table = Mapping[str, Sequence[tuple[object, ...]]]

#: Operators and syntax that a call stands for.
SPELLINGS = {
    "concat_op": "{} || {}",
    "second_with_fraction": "extract(SECOND FROM {})",
    "year_of_week": "extract(YEAROFWEEK FROM {})",
    "dayofweek_iso": "extract(DAYOFWEEK_ISO FROM {})",
    **{
        f"interval_{field}": f"extract({field} FROM {{}})"
        for field in ("year", "month", "day", "hour", "minute", "second")
    },
    "get_item": "{}[{}]",
    "add": "{} + {}",
    "subtract": "{} - {}",
    "multiply": "{} * {}",
    "divide": "{} / {}",
}


def cases(table: Table, zone: str = "UTC") -> list[Case]:
    """The rows of a table, as parameters of a test."""
    return [Case(name, row[:-1], row[-1], zone) for name, rows in table.items() for row in rows]


def type_of(value: object) -> pa.DataType:
    """The logical type that a Python value stands for; int beyond 32 bits is bigint, an aware datetime a
    timestamp."""
    match value:
        case Typed():
            return value.type
        case None:
            return pa.null()
        case bool():
            return pa.bool_()
        case int():
            return pa.int32() if -(2**31) <= value < 2**31 else pa.int64()
        case float():
            return pa.float64()
        case str():
            return pa.string()
        case bytes():
            return pa.binary()
        case Decimal():
            _, digits, exponent = value.as_tuple()
            scale = max(-int(exponent), 0)
            return pa.decimal128(max(len(digits), scale), scale)
        case datetime.datetime():
            return TIMESTAMP_NTZ if value.tzinfo is None else TIMESTAMP
        case datetime.date():
            return pa.date32()
        case datetime.timedelta():
            return DAY_TIME_INTERVAL
        case list():
            return pa.list_(next((type_of(item) for item in value if item is not None), pa.null()))
        case _:
            raise TypeError(f"what is {value!r}?")


def check(case: Case) -> None:
    """Run the case in every form."""
    function = registry.lookup(case.name)
    assert function is not None, case.name
    types = argument_types(function, case.arguments)
    values = [_plain(argument) for argument in case.arguments]
    fixed = tuple(values[position] for position in function.constants if position < len(values))
    result_type = case.answer.type if isinstance(case.answer, Typed) else function.result_type(types, fixed)
    for shape, arguments, length in shapes(values, types):
        constants = tuple(item if isinstance(item, pa.Scalar) else None for item in arguments)
        signature = Signature(result_type, types, constants, Settings(case.zone))
        kernel = function.prepared(signature)
        if shape == "nulls" and 0 in function.constants:
            continue
        if function.constant_result is not None and constants[1:2] == (None,):
            continue
        if isinstance(case.answer, Fails):
            _check_failure(partial(kernel, arguments, length), case, case.answer)
            continue
        result = kernel(arguments, length)
        assert result.type == physical(result_type), (shape, result.type)
        got = [result.as_py()] * length if isinstance(result, pa.Scalar) else result.to_pylist()
        assert len(got) == length, shape
        wanted = _plain(case.answer)
        for index, value in enumerate(got):
            expected = None if _null_row(shape, index, values, function) else wanted
            if shape == "nulls" and not function.null_propagating and index == 1:
                continue
            assert _same(value, expected), f"{case} ({shape}, row {index}): {value!r}, not {expected!r}"


def run(name: str, *arguments: Datum, zone: str = "UTC") -> Datum:
    """The function's result for arrays and scalars of logical types."""
    function = registry.lookup(name)
    assert function is not None, name
    types = tuple(argument.type for argument in arguments)
    constants = tuple(item if isinstance(item, pa.Scalar) else None for item in arguments)
    length = max((len(item) for item in arguments if isinstance(item, pa.Array)), default=1)
    return function.prepared(Signature(function.result_type(types), types, constants, Settings(zone)))(
        arguments, length
    )


def run_case(case: Case) -> pa.Scalar:
    """The kernel's answer to the case, its arguments as constants."""
    function = registry.lookup(case.name)
    assert function is not None, case.name
    types = argument_types(function, case.arguments)
    result_type = case.answer.type if isinstance(case.answer, Typed) else function.result_type(types)
    constants = tuple(
        scalar(_plain(value), physical(kind)) for value, kind in zip(case.arguments, types, strict=True)
    )
    return function.prepared(Signature(result_type, types, constants, Settings(case.zone)))(constants, 1)


def _null_row(shape: str, index: int, values: list[object], function: ScalarFunction) -> bool:
    return shape == "nulls" and index == 1


def _same(left: object, right: object) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return repr(left) == repr(right)
    return left == right and type(left) is type(right)


def _check_failure(run: Callable[[], Datum], case: Case, expected: Fails) -> None:
    with pytest.raises(DatabaseError) as caught:
        run()
    assert caught.value.condition == expected.condition, f"{case}: {caught.value}"


def argument_types(function: ScalarFunction, arguments: tuple[object, ...]) -> tuple[pa.DataType, ...]:
    """The types after coercion: what the entry asks for where it names a type, else the value's own."""
    types = []
    for index, argument in enumerate(arguments):
        asked = function.arguments[min(index, len(function.arguments) - 1)]
        if isinstance(asked, pa.DataType) and not isinstance(argument, Typed):
            types.append(asked)
        elif argument is None:
            types.append(pa.string())
        else:
            types.append(type_of(argument))
    return tuple(types)


def shapes(
    values: list[object], types: tuple[pa.DataType, ...]
) -> Iterator[tuple[str, tuple[Datum, ...], int]]:
    """The arguments as a kernel may get them, with the row count."""
    physical_types = [physical(data_type) for data_type in types]
    constants = tuple(scalar(value, kind) for value, kind in zip(values, physical_types, strict=True))
    yield "constants", constants, 1
    if not values:
        return
    yield (
        "one row",
        tuple(from_values([value], kind) for value, kind in zip(values, physical_types, strict=True)),
        1,
    )
    yield (
        "slices",
        tuple(
            from_values([value] * 12, kind).slice(9, 2)
            for value, kind in zip(values, physical_types, strict=True)
        ),
        2,
    )
    first = from_values([values[0]] * LONG, physical_types[0])
    yield "long column", (first, *constants[1:]), LONG
    if values[0] is not None:
        with_null = from_values([values[0], None, values[0]], physical_types[0])
        yield "nulls", (with_null, *constants[1:]), 3
    if len(values) > 1:
        last = from_values([values[-1]] * LONG, physical_types[-1])
        yield "last column", (*constants[:-1], last), LONG


def _plain(value: object) -> object:
    return value.value if isinstance(value, Typed) else value


def sql_of(case: Case) -> str:
    """The call as Spark would read it."""
    arguments = [literal(argument) for argument in case.arguments]
    if case.name in ("timestampadd", "timestampdiff"):
        arguments[0] = str(case.arguments[0])
    spelling = SPELLINGS.get(case.name)
    return spelling.format(*arguments) if spelling else f"{case.name}({', '.join(arguments)})"


def literal(value: object) -> str:
    """A Python value as a SQL literal of its type."""
    match value:
        case Typed(value=int(count), type=IntervalType()):
            return interval_text(count, value.type)
        case Typed():
            return f"CAST({literal(value.value)} AS {ddl(value.type)})"
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case int():
            return f"{value}" if type_of(value) == pa.int32() else f"{value}L"
        case float():
            return f"CAST('{value}' AS DOUBLE)"
        case str():
            return "'" + "".join(_character(character) for character in value) + "'"
        case bytes():
            return f"X'{value.hex()}'"
        case Decimal():
            return f"{value:f}BD"
        case datetime.datetime():
            kind = "TIMESTAMP_NTZ" if value.tzinfo is None else "TIMESTAMP"
            return f"{kind} '{value.strftime('%4Y-%m-%d %H:%M:%S.%f') if value.year > 999 else value}'"
        case datetime.date():
            return f"DATE '{value}'"
        case datetime.timedelta():
            micros = value // datetime.timedelta(microseconds=1)
            sign, micros = ("-", -micros) if micros < 0 else ("", micros)
            seconds, fraction = divmod(micros, 1_000_000)
            days, seconds = divmod(seconds, 86_400)
            clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:06}"
            return f"INTERVAL '{sign}{days} {clock}' DAY TO SECOND"
        case list():
            return f"array({', '.join(map(literal, value))})"
        case _:
            raise TypeError(f"what is {value!r}?")


def _character(character: str) -> str:
    if character in "'\\":
        return "\\" + character
    if character.isprintable() and not "\ud800" <= character <= "\udfff":
        return character
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"
