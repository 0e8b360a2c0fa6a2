"""Texts that may hold bytes which are no UTF-8: is_valid_utf8, make_valid_utf8, validate_utf8,
try_validate_utf8.

Strings hold nothing but UTF-8 here; so the functions take binaries as they are, where Spark casts them to
strings that may hold any bytes."""

from collections.abc import Callable

import pyarrow as pa

from sqlfront_values.arrow.arrays import from_values
from sqlfront_values.arrow.forms import Datum
from sqlfront_values.errors import spark_error
from sqlfront_values.functions import growth
from sqlfront_values.functions.registry import Invocation, Kernel, Kind, ScalarFunction, register
from sqlfront_values.functions.rowwise import columnar
from sqlfront_values.types import BINARY, BOOLEAN, STRING


def _is_valid(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _per_text(function: Callable[[bytes], object], valid: Callable[[pa.Array], pa.Array]) -> Kernel:
    """Make a kernel that calls ``valid`` with a column of strings if all bytes are UTF-8; else
    ``function`` with the bytes of each text."""

    @columnar
    def kernel(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        column = arguments[0].cast(BINARY)
        try:
            return valid(column.cast(STRING))
        except pa.ArrowInvalid:
            texts = column.to_pylist()
        return from_values([None if text is None else function(text) for text in texts], invocation.type)

    return kernel


def _all_true(column: pa.Array) -> pa.Array:
    return from_values([None if is_null else True for is_null in column.is_null().to_pylist()], BOOLEAN)


def _unchanged(column: pa.Array) -> pa.Array:
    return column


def _validated(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        shown = "".join(f"\\x{byte:02X}" for byte in data[error.start : error.end])
        raise spark_error(
            "INVALID_UTF8_STRING", f"Invalid UTF8 byte sequence found in string: {shown}."
        ) from None


register(
    ScalarFunction(
        "is_valid_utf8",
        (Kind.STRING_OR_BINARY,),
        BOOLEAN,
        _per_text(_is_valid, _all_true),
        elementwise_values=False,
        example=("is_valid_utf8(X'80')", "False"),
    ),
    ScalarFunction(
        "make_valid_utf8",
        (Kind.STRING_OR_BINARY,),
        STRING,
        _per_text(lambda data: data.decode(errors="replace"), _unchanged),
        growth=growth.times(3),
        elementwise_values=False,
        example=("make_valid_utf8(X'61C262')", "'a\ufffdb'"),
    ),
    ScalarFunction(
        "validate_utf8",
        (Kind.STRING_OR_BINARY,),
        STRING,
        _per_text(_validated, _unchanged),
        can_fail=True,
        example=("validate_utf8('Spark')", "'Spark'"),
    ),
    ScalarFunction(
        "try_validate_utf8",
        (Kind.STRING_OR_BINARY,),
        STRING,
        _per_text(lambda data: data.decode() if _is_valid(data) else None, _unchanged),
        elementwise_values=False,
        example=("try_validate_utf8(X'80')", "None"),
    ),
)
