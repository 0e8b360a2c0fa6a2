"""The fields of dates and timestamps (year, hour and so on), and functions that add days or months to
dates."""

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_numpy, numpy_view, valid_mask
from sqlfront_values.arrow.forms import Datum
from sqlfront_values.functions.registry import Invocation, Kernel, Kind, ScalarFunction, register
from sqlfront_values.functions.rowwise import columnar, constants
from sqlfront_values.functions.time import calendar_dates
from sqlfront_values.functions.time.calendar_dates import Days, Integers, by_day, civil_from_days
from sqlfront_values.java.civil import MICROS_PER_DAY, MICROS_PER_MINUTE, NANOS_PER_MICRO, NANOS_PER_SECOND
from sqlfront_values.types import BIGINT, DATE, INT, TIMESTAMP, TIMESTAMP_NTZ, TimeType, decimal, physical
from sqlfront_values.zones.wall_clock import instants_of, wall_clock

_SECONDS: Final = decimal(8, 6)
Mask = npt.NDArray[np.bool_] | None


def _date_field(field: Callable[[Days], Integers]) -> Kernel:
    @columnar
    def kernel(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        column = arguments[0]
        return from_numpy(by_day(field, numpy_view(column)), INT, valid_mask(column))  # type: ignore[arg-type]

    return kernel


def _quarter(days: Days) -> Integers:
    return (civil_from_days(days)[1] + 2) // 3


_DATE_FIELDS: Final[dict[str, tuple[Callable[[Days], Integers], str]]] = {
    "year": (lambda days: civil_from_days(days)[0], "2016"),
    "quarter": (_quarter, "3"),
    "month": (lambda days: civil_from_days(days)[1], "7"),
    "day": (lambda days: civil_from_days(days)[2], "30"),
    "dayofmonth": (lambda days: civil_from_days(days)[2], "30"),
    "dayofweek": (lambda days: (calendar_dates.weekday(days) + 1) % 7 + 1, "7"),
    "weekday": (calendar_dates.weekday, "5"),
    "dayofyear": (calendar_dates.day_of_year, "212"),
    "weekofyear": (lambda days: calendar_dates.iso_week(days)[1], "30"),
}
#: Fields that only EXTRACT can name.
_EXTRACTED: Final[dict[str, Callable[[Days], Integers]]] = {
    "year_of_week": lambda days: calendar_dates.iso_week(days)[0],
    "dayofweek_iso": lambda days: calendar_dates.weekday(days) + 1,
}


# ---- fields of the time of day


def local_micros(column: pa.Array, zone: str) -> Integers:
    """Return the local times of a column of dates or timestamps, in microseconds since 1970 by the clock of
    the time zone ``zone``; timestamps without time zone are local times already. Of times of day, return the
    microseconds since midnight."""
    values = numpy_view(column).astype(np.int64, copy=False)
    if column.type == BIGINT:
        return values // NANOS_PER_MICRO
    if column.type == DATE:
        # A date means its first instant, which is not midnight if the zone skips midnight.
        return wall_clock(instants_of(values * MICROS_PER_DAY, zone), zone)
    return wall_clock(values, zone) if column.type == TIMESTAMP else values


def _time_field(name: str) -> Kernel:
    """Make a kernel that applies Arrow's kernel ``name``, such as ``hour``, to the local times of dates or
    timestamps in the session's time zone."""

    @columnar
    def kernel(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        column = arguments[0]
        micros = local_micros(column, invocation.settings.time_zone)
        clock = from_numpy(micros, TIMESTAMP_NTZ, valid_mask(column))
        return from_numpy(numpy_view(pc.call_function(name, [clock])), INT, valid_mask(column))

    return kernel


@columnar
def _second_with_fraction(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    column, kind = arguments[0], invocation.argument_types[0]
    if isinstance(kind, TimeType):
        nanos = numpy_view(column) % (60 * NANOS_PER_SECOND)
        return from_numpy(nanos // 10 ** (9 - kind.precision), physical(_seconds(kind)), valid_mask(column))
    micros = local_micros(column, invocation.settings.time_zone)
    return from_numpy(micros % MICROS_PER_MINUTE, physical(_SECONDS), valid_mask(column))


def _seconds(kind: pa.DataType) -> pa.DataType:
    """Return the type of seconds with all digits of their fraction, of a time or timestamp."""
    return decimal(2 + kind.precision, kind.precision) if isinstance(kind, TimeType) else _SECONDS


_TIME_FIELDS: Final = {
    "hour": (_time_field("hour"), "12"),
    "minute": (_time_field("minute"), "58"),
    "second": (_time_field("second"), "59"),
}


# ---- dates some days or months away


def _shifted_days(sign: int) -> Kernel:
    @columnar
    def kernel(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        return _over_both(lambda days, count: days + np.int32(sign) * count, arguments, invocation)

    return kernel


@columnar
def _add_months(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    column, months = arguments
    given = constants((months,))
    if isinstance(column, pa.Array) and given is not None and column.null_count == 0:
        return from_numpy(calendar_dates.months_later(numpy_view(column), int(given[0])), DATE)  # type: ignore[arg-type,call-overload]
    return _over_both(
        lambda days, count: calendar_dates.checked_days(
            calendar_dates.add_months(days, count.astype(np.int64))
        ),
        arguments,
        invocation,
    )


@columnar
def _datediff(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    return _over_both(lambda end, start: end - start, arguments, invocation)


def _over_both(
    rule: Callable[[Days, Days], Days], arguments: tuple[Datum, ...], invocation: Invocation
) -> pa.Array:
    """Return the column of ``rule(left, right)`` over two int32 arguments; a constant argument is a vector of
    one value. The result is null where either argument is null. An overflow wraps around, as with Java's
    ints."""
    if any(isinstance(datum, pa.Scalar) and not datum.is_valid for datum in arguments):
        return pa.nulls(invocation.length, invocation.type)
    columns = [pa.repeat(datum, 1) if isinstance(datum, pa.Scalar) else datum for datum in arguments]
    valid = None
    for column in columns:
        mask = valid_mask(column)
        if mask is not None:
            valid = mask if valid is None else valid & mask
    values = [_ints(column, valid) for column in columns]
    return from_numpy(rule(values[0], values[1]), invocation.type, valid)


def _ints(column: pa.Array, valid: Mask) -> Days:
    values = numpy_view(column)
    return values if valid is None else np.where(valid, values, 0)  # type: ignore[return-value]


register(
    *(
        ScalarFunction(name, (DATE,), INT, _date_field(field), example=(f"{name}(date'2016-07-30')", answer))
        for name, (field, answer) in _DATE_FIELDS.items()
    ),
    *(ScalarFunction(name, (DATE,), INT, _date_field(field)) for name, field in _EXTRACTED.items()),
    *(
        ScalarFunction(
            name,
            (Kind.DATE_OR_TIMESTAMP,),
            INT,
            kernel,
            example=(f"{name}(timestamp'2009-07-30 12:58:59')", answer),
        )
        for name, (kernel, answer) in _TIME_FIELDS.items()
    ),
    ScalarFunction(
        "second_with_fraction",
        (Kind.DATE_OR_TIMESTAMP,),
        lambda kinds: _seconds(kinds[0]),
        _second_with_fraction,
        example=("extract(second from timestamp'2009-07-30 12:58:59.5')", "Decimal('59.500000')"),
    ),
    *(
        ScalarFunction(
            name,
            (DATE, INT),
            DATE,
            _shifted_days(1),
            example=(f"{name}(date'2016-07-30', 1)", "datetime.date(2016, 7, 31)"),
        )
        for name in ("date_add", "dateadd")
    ),
    ScalarFunction(
        "date_sub",
        (DATE, INT),
        DATE,
        _shifted_days(-1),
        example=("date_sub(date'2016-07-30', 1)", "datetime.date(2016, 7, 29)"),
    ),
    ScalarFunction(
        "add_months",
        (DATE, INT),
        DATE,
        _add_months,
        can_fail=True,
        example=("add_months(date'2016-08-31', 1)", "datetime.date(2016, 9, 30)"),
    ),
    *(
        ScalarFunction(
            name,
            (DATE, DATE),
            INT,
            _datediff,
            example=(f"{name}(date'2009-07-31', date'2009-07-30')", "1"),
        )
        for name in ("datediff", "date_diff")
    ),
)
