"""concat and its operator ``||`` over strings, binaries and arrays, concat_ws, elt."""

from typing import Final

import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import scalar
from sqlfront_values.arrow.forms import Datum, full_array
from sqlfront_values.columns.joining import join_present
from sqlfront_values.errors import spark_error
from sqlfront_values.functions import growth
from sqlfront_values.functions.nested.array_shapes import concat_arrays
from sqlfront_values.functions.registry import Invocation, Kind, ScalarFunction, register
from sqlfront_values.functions.rowwise import by_row, columnar, nulls
from sqlfront_values.types import INT, STRING

_EMPTY: Final = scalar("", STRING)
_JOIN: Final = pc.get_function("binary_join_element_wise")
_NULL_IF_NULL: Final = pc.JoinOptions(null_handling="emit_null")


@columnar
def _concat(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    if not arguments:
        return pa.repeat(_EMPTY, invocation.length)
    if pa.types.is_list(invocation.type):
        return concat_arrays(arguments, invocation)
    empty = scalar("" if invocation.type == STRING else b"", invocation.type)
    return _JOIN.call([*arguments, empty], _NULL_IF_NULL)


@columnar
def _concat_ws(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    separator, *parts = arguments
    if isinstance(separator, pa.Scalar) and not separator.is_valid:
        return nulls(invocation)
    if any(pa.types.is_list(part.type) for part in parts) or isinstance(separator, pa.Array):
        return by_row(_join_present, arguments, invocation, null_aware=True)
    parts = [part for part in parts if isinstance(part, pa.Array) or part.is_valid]
    if not parts:
        return pa.repeat(_EMPTY, invocation.length)
    return join_present(parts, separator)


def _join_present(separator: str | None, *parts: str | list[str | None] | None) -> str | None:
    """Return the strings joined by the separator, None if the separator is None. ``parts`` are strings and
    arrays of strings; nulls among the parts and in the arrays are left out."""
    if separator is None:
        return None
    present: list[str] = []
    for part in parts:
        if isinstance(part, list):
            present.extend(item for item in part if item is not None)
        elif part is not None:
            present.append(part)
    return separator.join(present)


@columnar
def _elt(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    def choose(number: int | None, *choices: str | bytes | None) -> str | bytes | None:
        if number is None:
            return None
        if not 1 <= number <= len(choices):
            raise spark_error(
                "INVALID_ARRAY_INDEX",
                f"The index {number} is out of bounds. The array has {len(choices)} elements. Use the SQL"
                " function `get()` to tolerate accessing element at invalid index and return NULL instead.",
            )
        return choices[number - 1]

    return by_row(
        choose, tuple(full_array(item, invocation.length) for item in arguments), invocation, null_aware=True
    )


register(
    *(
        ScalarFunction(
            name,
            (Kind.ANY,),
            lambda types: types[0] if types else STRING,
            _concat,
            variadic=True,
            optional=1,
            example=example,
        )
        for name, example in (
            ("concat", ("concat('Spark', 'SQL')", "'SparkSQL'")),
            ("concat_op", ("'Spark' || 'SQL'", "'SparkSQL'")),
        )
    ),
    ScalarFunction(
        "concat_ws",
        (STRING, Kind.STRING_OR_STRINGS),
        STRING,
        _concat_ws,
        variadic=True,
        optional=1,
        growth=growth.separated,
        null_propagating=False,
        example=("concat_ws('-', 'a', null, array('b', 'c'))", "'a-b-c'"),
    ),
    ScalarFunction(
        "elt",
        (INT, Kind.STRING_OR_BINARY),
        lambda types: types[1],
        _elt,
        variadic=True,
        null_propagating=False,
        can_fail=True,
        example=("elt(2, 'scala', 'java')", "'java'"),
    ),
)
