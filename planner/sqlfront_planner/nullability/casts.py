"""The casts of values that aren't null which may give nulls, as Spark's ``Cast.nullable`` says in ANSI mode.

Spark 4.3 calls many casts nullable that raise an error instead of giving null, such as those of texts.
"""

import pyarrow as pa

from sqlfront_planner.nullability.nulls import Nulls, everywhere, inner_types
from sqlfront_values.types import (
    DATE,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    is_decimal,
    is_interval,
    is_string,
    is_time,
    is_variant,
)

_INTEGERS = ("int8", "int16", "int32", "int64")
#: Digits that a decimal needs to hold all values of an integer type.
_DIGITS = {"int8": 3, "int16": 5, "int32": 10, "int64": 20}


def cast(operand: Nulls, before: pa.DataType, after: pa.DataType, *, safe: bool) -> Nulls:
    """Return where the result of a cast may be null. ``safe``: the cast is a ``try_cast``."""
    kinds = inner_types(after)
    if not kinds:
        forced = not _is_up_cast(before, after) if safe else _may_give_null(before, after)
        return Nulls(operand.value or forced)
    if pa.types.is_null(before) or len(operand.parts) != len(kinds):
        return everywhere(after)
    pairs = zip(operand.parts, inner_types(before), kinds, strict=True)
    parts = tuple(cast(part, one, two, safe=safe) for part, one, two in pairs)
    return Nulls(operand.value, parts)


def _may_give_null(before: pa.DataType, after: pa.DataType) -> bool:
    if is_variant(before) or is_variant(after):
        return before != after and (is_variant(before) or is_string(before) or before == DATE)
    if before == after or is_string(after):
        return False
    if pa.types.is_date(before) and after not in (TIMESTAMP, TIMESTAMP_NTZ):  # with ANSI mode off
        return True
    if is_string(before):
        return not pa.types.is_binary(after)
    if is_decimal(after):
        return not (pa.types.is_boolean(before) or _holds(before, after) or _has_more_digits(before, after))
    if is_time(before) and str(after) in _INTEGERS:
        return str(after) not in _INTEGERS[2:]
    if str(after) in _INTEGERS:
        return (
            pa.types.is_floating(before)
            or is_decimal(before)
            or (before == TIMESTAMP and str(after) != "int64")
        )
    if after == TIMESTAMP:
        return pa.types.is_floating(before)
    return (after == TIMESTAMP_NTZ and pa.types.is_date(before)) or (
        pa.types.is_date(after) and before == TIMESTAMP_NTZ
    )


def _holds(before: pa.DataType, after: pa.DataType) -> bool:
    """Return whether a decimal type holds all values of an integer or decimal type."""
    if str(before) in _INTEGERS:
        return bool(after.precision - after.scale >= _DIGITS[str(before)])
    if not is_decimal(before):
        return False
    whole, places = before.precision - before.scale, before.scale
    return bool(after.precision - after.scale >= whole and after.scale >= places)


def _has_more_digits(before: pa.DataType, after: pa.DataType) -> bool:
    """Return whether a decimal type has more digits before the point than another one: rounding, too, gives a
    value of the type."""
    return is_decimal(before) and bool(after.precision - after.scale > before.precision - before.scale)


def _is_up_cast(before: pa.DataType, after: pa.DataType) -> bool:
    """Return whether each value of a type has its like in another one."""
    if before == after or is_string(after) or (is_string(before) and pa.types.is_binary(after)):
        return True
    if is_decimal(after):
        return _holds(before, after)
    number = str(before) in _INTEGERS
    if str(after) in _INTEGERS:
        wider = number and _INTEGERS.index(str(after)) >= _INTEGERS.index(str(before))
        return wider or (before == TIMESTAMP and str(after) == "int64")
    if pa.types.is_floating(after):
        return number or (pa.types.is_floating(before) and after.bit_width >= before.bit_width)
    if after == TIMESTAMP:
        return pa.types.is_date(before) or before == TIMESTAMP_NTZ or str(before) == "int64"
    if after == TIMESTAMP_NTZ:
        return pa.types.is_date(before) or before == TIMESTAMP
    return is_interval(before) and is_interval(after)
