"""The errors of running expressions, with Spark's messages.

The messages leave out Spark's advice to switch ANSI mode off: sqlfront has no other mode.
"""

from decimal import Decimal
from typing import Final

import pyarrow as pa

from sqlfront_values.errors import (
    DatabaseError,
    DataError,
    Error,
    InternalError,
    NotSupportedError,
    OperationalError,
    spark_error,
)
from sqlfront_values.types import BIGINT, DOUBLE, SMALLINT, STRING, TINYINT, sql_name

#: Parts of Arrow's messages when one column would hold texts of more than 2 GiB.
_CAPACITY: Final = ("offset overflow", "would overflow", "cannot contain more than", "exceeds the maximum")
_SUFFIXES: Final = {TINYINT: "S", SMALLINT: "S", BIGINT: "L"}


def divide_by_zero() -> DatabaseError:
    """Build Spark's error DIVIDE_BY_ZERO, of ``/`` and ``div``."""
    return spark_error(
        "DIVIDE_BY_ZERO",
        "Division by zero. Use `try_divide` to tolerate divisor being 0 and return NULL instead.",
    )


def malformed_variant() -> DatabaseError:
    """Build Spark's error MALFORMED_VARIANT, for bytes that aren't a variant."""
    return spark_error(
        "MALFORMED_VARIANT",
        "Variant binary is malformed. Please check the data source is valid.",
    )


def remainder_by_zero() -> DatabaseError:
    """Build Spark's error REMAINDER_BY_ZERO, of ``%``, mod and pmod."""
    return spark_error(
        "REMAINDER_BY_ZERO",
        "Remainder by zero. Use `try_mod` to tolerate divisor being 0 and return NULL instead.",
    )


def arithmetic_overflow(advice: str | None = None, what: str = "overflow") -> DatabaseError:
    """Build Spark's error ARITHMETIC_OVERFLOW. ``what`` is the beginning of the message, the operation that
    overflowed; ``advice`` is the name of the function that returns null instead (``"try_add"``), None if
    there is none."""
    hint = f" Use '{advice}' to tolerate overflow and return NULL instead." if advice else ""
    return spark_error("ARITHMETIC_OVERFLOW", f"{what}.{hint}")


def interval_overflow(advice: str = "") -> DatabaseError:
    """Build Spark's error INTERVAL_ARITHMETIC_OVERFLOW, of arithmetic over intervals. ``advice`` is the name
    of the function that returns null instead, empty if there is none."""
    if not advice:
        return spark_error(
            "INTERVAL_ARITHMETIC_OVERFLOW.WITHOUT_SUGGESTION",
            "Integer overflow while operating with intervals. Try devising appropriate values for the"
            " interval parameters.",
        )
    return spark_error(
        "INTERVAL_ARITHMETIC_OVERFLOW.WITH_SUGGESTION",
        f"Integer overflow while operating with intervals. Use `{advice}` to tolerate overflow and return"
        " NULL instead.",
    )


def small_overflow(left: int, symbol: str, right: int, advice: str) -> DatabaseError:
    """Build Spark's error BINARY_ARITHMETIC_OVERFLOW, of ``+ - *`` over tinyint and smallint, whose message
    has both operands and the operator's ``symbol``. ``advice`` is the name of the function that returns null
    instead."""
    return spark_error(
        "BINARY_ARITHMETIC_OVERFLOW",
        f"{left}S {symbol} {right}S caused overflow."
        f" Use `{advice}` to ignore overflow problem and return NULL.",
    )


def out_of_range(value: str, precision: int, scale: int, *, suggestion: bool = True) -> DatabaseError:
    """Build Spark's error NUMERIC_VALUE_OUT_OF_RANGE, for a number (``value`` is its text) that
    decimal(precision, scale) cannot hold. The sub-condition is WITH_SUGGESTION if ``suggestion``, else
    WITHOUT_SUGGESTION."""
    return spark_error(
        f"NUMERIC_VALUE_OUT_OF_RANGE.{'WITH' if suggestion else 'WITHOUT'}_SUGGESTION",
        f"{value} cannot be represented as Decimal({precision}, {scale}).",
    )


def invalid_input(value: str, source: pa.DataType, target: pa.DataType) -> DatabaseError:
    """Build Spark's error CAST_INVALID_INPUT, for a value of the ``source`` type that is malformed as a value
    of the ``target`` type. ``value`` is written as SQL would write it, strings quoted."""
    return spark_error(
        "CAST_INVALID_INPUT",
        f'The value {value} of the type "{sql_name(source)}" cannot be cast to "{sql_name(target)}" because'
        " it is malformed. Correct the value as per the syntax, or change its target type. Use `try_cast` to"
        " tolerate malformed input and return NULL instead.",
    )


def cast_overflow(value: str, source: pa.DataType, target: pa.DataType) -> DatabaseError:
    """Build Spark's error CAST_OVERFLOW, for a value of the ``source`` type beyond the range of the
    ``target`` type. ``value`` is written as SQL would write it (:func:`sql_text`)."""
    return spark_error(
        "CAST_OVERFLOW",
        f'The value {value} of the type "{sql_name(source)}" cannot be cast to "{sql_name(target)}" due to an'
        " overflow. Use `try_cast` to tolerate overflow and return NULL instead.",
    )


def sql_text(value: object, data_type: pa.DataType, text: str) -> str:
    """Return a value as Spark's messages write it: strings quoted, numbers with the suffix of their type.
    ``text`` is the value cast to string.

    >>> sql_text(300, pa.int64(), "300"), sql_text("x", pa.string(), "x")
    ('300L', "'x'")
    """
    if data_type == STRING:
        return f"'{text}'"
    if isinstance(value, Decimal):
        return f"{text}BD"
    if data_type == DOUBLE:
        return text if text in ("NaN", "Infinity", "-Infinity") else f"{text}D"
    return f"{text}{_SUFFIXES.get(data_type, '')}"


def foreign_error(error: BaseException, where: str = "") -> Error:
    """Translate an exception of Arrow, numpy or Python to an error of sqlfront; return an error of sqlfront
    unchanged.

    Failures of memory and files, and sizes that Arrow can't hold, become OperationalError; bytes that are not
    UTF-8 become DataError; a regular expression that Arrow's matcher can't hold becomes NotSupportedError.
    Any other exception should have been foreseen where it arose and becomes InternalError. ``where`` names
    the step of a job for the message; empty = the message names no step.

    >>> foreign_error(MemoryError())
    OperationalError('there is not enough memory')
    """
    place = f" in {where}" if where else ""
    match error:
        case Error():
            return error
        case MemoryError():
            return OperationalError(
                f"there is not enough memory{place}", condition="UNABLE_TO_ACQUIRE_MEMORY"
            )
        case pa.ArrowCapacityError():
            return _too_large(error, place)
        case pa.ArrowInvalid() if any(text in str(error) for text in _CAPACITY):
            return _too_large(error, place)
        case pa.ArrowInvalid() if "pattern too large" in str(error):
            return NotSupportedError(f"a regular expression that is too large for Arrow's matcher{place}")
        case RecursionError():
            return OperationalError(f"an expression or a value is nested too deeply{place}", sqlstate="54001")
        case UnicodeDecodeError():
            return DataError(f"a string holds bytes that are not UTF-8{place}: {error}", sqlstate="22021")
        case pa.ArrowInvalid() if "Invalid UTF8" in str(error):
            return DataError(f"a string holds bytes that are not UTF-8{place}", sqlstate="22021")
        case OSError():
            return OperationalError(f"{type(error).__name__}{place}: {error}")
        case _:
            return InternalError(f"{type(error).__name__}{place}: {error}")


def _too_large(error: BaseException, place: str) -> OperationalError:
    return OperationalError(
        f"the values of one batch are too large{place}: {error}",
        condition="UNABLE_TO_ACQUIRE_MEMORY",
    )
