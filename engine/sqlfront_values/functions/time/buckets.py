"""time_bucket: the start of the bucket of time that a timestamp falls into."""

from typing import Final

import numpy as np
import numpy.typing as npt

from sqlfront_values.arrow.arrays import from_numpy, numpy_view, valid_mask
from sqlfront_values.arrow.forms import Datum, full_array
from sqlfront_values.columns.lists import both_valid
from sqlfront_values.errors import spark_error
from sqlfront_values.functions.registry import Invocation, Kind, ScalarFunction, register
from sqlfront_values.functions.rowwise import columnar, micros_of
from sqlfront_values.functions.time.arithmetic import move_instants
from sqlfront_values.functions.time.calendar_dates import civil_from_days
from sqlfront_values.java.civil import MICROS_PER_DAY
from sqlfront_values.types import TIMESTAMP_NTZ, is_year_month
from sqlfront_values.zones.wall_clock import is_utc, wall_clock

Integers = npt.NDArray[np.int64]
_LIMIT: Final = 2.0**63


def _counted(amounts: Integers, widths: Integers) -> Integers:
    """Return how often each width fits the amount, rounded down."""
    counts: Integers = amounts // widths
    if (np.abs((counts.astype(np.float64) - 1) * widths) >= _LIMIT).any():
        raise spark_error("ARITHMETIC_OVERFLOW", "overflow.")
    return counts


def _difference(instants: Integers, origins: Integers) -> Integers:
    result: Integers = instants - origins
    if (((instants ^ origins) & (instants ^ result)) < 0).any():
        raise spark_error("ARITHMETIC_OVERFLOW", "overflow.")
    return result


def _months(instants: Integers, zone: str) -> Integers:
    year, month, _ = civil_from_days(wall_clock(instants, zone) // MICROS_PER_DAY)
    return (year * 12 + month).astype(np.int64)


def bucket_starts(
    instants: Integers, origins: Integers, widths: Integers, zone: str, *, in_months: bool
) -> Integers:
    """Return the starts of the buckets, in microseconds since 1970 UTC: the greatest ``origin + n *
    width`` up to the instant. Months and, in a width of a day or more, days are those of the calendar in
    the time zone."""
    if not in_months:
        exact = widths < MICROS_PER_DAY
        if exact.all():
            return origins + _counted(_difference(instants, origins), widths) * widths
    if in_months:
        counts = _counted(_months(instants, zone) - _months(origins, zone), widths)
    else:
        counts = _counted(_difference(wall_clock(instants, zone), wall_clock(origins, zone)), widths)
    # The clock's changes, and a month that ends early, may move a start past the instant.
    starts = _moved(origins, counts, widths, zone, in_months=in_months)
    if is_utc(zone) and not in_months:
        return starts
    early = starts > instants
    if early.any():
        starts = np.where(early, _moved(origins, counts - early, widths, zone, in_months=in_months), starts)
    if in_months:
        return starts
    late = ~early & (_moved(origins, counts + ~early, widths, zone, in_months=in_months) <= instants)
    if late.any():
        starts = np.where(late, _moved(origins, counts + late, widths, zone, in_months=in_months), starts)
    return starts


def _moved(origins: Integers, counts: Integers, widths: Integers, zone: str, *, in_months: bool) -> Integers:
    return move_instants(origins, counts * widths, zone, in_months=in_months)


@columnar
def _time_bucket(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    width, instant, origin = (full_array(argument, invocation.length) for argument in arguments)
    valid = both_valid(both_valid(valid_mask(width), valid_mask(instant)), valid_mask(origin))
    widths, instants, origins = numpy_view(width).astype(np.int64), micros_of(instant), micros_of(origin)
    if valid is not None:
        widths, instants, origins = (np.where(valid, values, 1) for values in (widths, instants, origins))
    zone = "UTC" if invocation.type == TIMESTAMP_NTZ else invocation.settings.time_zone
    in_months = is_year_month(invocation.argument_types[0])
    starts = bucket_starts(instants, origins, widths, zone, in_months=in_months)
    return from_numpy(starts, invocation.type, valid)


register(
    ScalarFunction(
        "time_bucket",
        (Kind.ANY, Kind.ANY, Kind.ANY),
        lambda types: types[1],
        _time_bucket,
        can_fail=True,
        example=(
            "time_bucket(INTERVAL '1' HOUR, TIMESTAMP'2024-01-01 11:27:00')",
            "datetime.datetime(2024, 1, 1, 11, 0)",
        ),
    ),
)
