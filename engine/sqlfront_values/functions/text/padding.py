"""Functions that cut or extend the ends of texts: trim, lpad, rpad, repeat, space."""

from collections.abc import Callable
from typing import Final

import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import scalar
from sqlfront_values.arrow.forms import Datum
from sqlfront_values.errors import DataError
from sqlfront_values.functions import growth
from sqlfront_values.functions.registry import (
    Invocation,
    Kernel,
    Kind,
    ScalarFunction,
    large_unless,
    register,
)
from sqlfront_values.functions.rowwise import by_row, columnar, constants, row_kernel
from sqlfront_values.functions.text.substrings import slice_column
from sqlfront_values.types import INT, STRING

_MOST_BYTES: Final = 2**31 - 1

Trim = Callable[[str, str], str]


def _trimming(kernel: str, text: Trim, *, characters_first: bool) -> Kernel:
    """Make the kernel of a trim function. ``kernel`` is Arrow's name of the function, ``text`` trims a single
    text by a set of characters.

    A call with one argument trims spaces. With two arguments, the set of characters is the second argument,
    or the first if ``characters_first``, as in SQL's ``TRIM(c FROM s)``."""

    @columnar
    def trim(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        if len(arguments) == 1:
            return pc.call_function(kernel, [arguments[0]], pc.TrimOptions(" "))
        subject, characters = arguments[::-1] if characters_first else arguments
        given = constants((characters,))
        if isinstance(subject, pa.Array) and given is not None:
            return pc.call_function(kernel, [subject], pc.TrimOptions(given[0])) if given[0] else subject
        return by_row(
            lambda value, among: text(value, among) if among else value, (subject, characters), invocation
        )

    return trim


def _padding(kernel: str, *, left: bool) -> Kernel:
    """Make the kernel of lpad (``left``) or rpad, which pads each text to as many characters as the second
    argument says, and cuts a longer text at its end. ``kernel`` is Arrow's name of the function."""

    def one(text: str | bytes, width: int, filler: str | bytes | None = None) -> str | bytes:
        if filler is None:
            filler = b"\0" if isinstance(text, bytes) else " "
        missing = width - len(text)
        if missing <= 0 or not filler:
            return text[: max(width, 0)]
        padding = (filler * (missing // len(filler) + 1))[:missing]
        return padding + text if left else text + padding  # type: ignore[operator]

    @columnar
    def pad(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        column = arguments[0]
        given = constants(arguments[1:])
        if isinstance(column, pa.Array) and given is not None and pa.types.is_string(column.type):
            width, filler = (*given, " ")[:2]
            if len(str(filler)) == 1 and int(width) > 0:  # type: ignore[call-overload]
                padded = pc.call_function(kernel, [column], pc.PadOptions(width, filler))
                return slice_column(padded, 1, int(width))  # type: ignore[call-overload]
        return by_row(one, arguments, invocation)

    return pad


def _repeated_size(arguments: tuple[Datum, ...], rows: int) -> int:
    """Return the number of bytes that ``repeat(text, count)`` makes over all rows.

    Raises DataError without a condition, as Spark does, if the result of one row exceeds 2 ** 31 - 1 bytes,
    the most that a string of Java may have.
    """
    sizes = growth.lengths(arguments[0]) * growth.counts(arguments[1])
    if growth.largest(sizes) > _MOST_BYTES:
        raise DataError("integer overflow")
    return growth.total(sizes, rows)


@columnar
def _repeat(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    column, count = arguments
    given = constants((count,))
    if isinstance(column, pa.Array) and given is not None and given[0] * column.nbytes <= _MOST_BYTES:
        return pc.call_function("binary_repeat", [column, scalar(max(given[0], 0), INT)])  # type: ignore[call-overload]
    return by_row(lambda text, times: text * max(times, 0), arguments, invocation)


register(
    *(
        ScalarFunction(
            name,
            (STRING, STRING),
            STRING,
            _trimming(kernel, text, characters_first=name != "btrim"),
            optional=1,
            example=(f"{name}('  Spark  ')", repr(text("  Spark  ", " "))),
        )
        for name, kernel, text in (
            ("trim", "utf8_trim", str.strip),
            ("btrim", "utf8_trim", str.strip),
            ("ltrim", "utf8_ltrim", str.lstrip),
            ("rtrim", "utf8_rtrim", str.rstrip),
        )
    ),
    *(
        ScalarFunction(
            name,
            (Kind.STRING_OR_BINARY, INT, Kind.STRING_OR_BINARY),
            lambda types: types[0],
            kernel,
            optional=1,
            can_fail=large_unless(1),
            growth=growth.padded,
            example=(f"{name}('hi', 5, 'ab')", answer),
        )
        for name, kernel, answer in (
            ("lpad", _padding("utf8_lpad", left=True), "'abahi'"),
            ("rpad", _padding("utf8_rpad", left=False), "'hiaba'"),
        )
    ),
    ScalarFunction(
        "repeat",
        (STRING, INT),
        STRING,
        _repeat,
        can_fail=True,
        growth=_repeated_size,
        example=("repeat('ab', 3)", "'ababab'"),
    ),
    ScalarFunction(
        "space",
        (INT,),
        STRING,
        row_kernel(lambda count: " " * max(count, 0)),
        can_fail=large_unless(0),
        growth=growth.counted,
        example=("space(3)", "'   '"),
    ),
)
