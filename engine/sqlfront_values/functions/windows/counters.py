"""Differences of the values of a counter that counts up and sometimes begins anew."""

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_numpy, numpy_view, scalar, valid_mask
from sqlfront_values.casts.formatting import decimal_to_string, float_to_string, timestamp_ntz_to_string
from sqlfront_values.columns.batches import Mask, Rows, gather, row_indices
from sqlfront_values.errors import spark_error
from sqlfront_values.types import BIGINT, TIMESTAMP, is_decimal, logical, physical
from sqlfront_values.zones.wall_clock import to_wall_clock


def differences(counts: pa.Array, starts: pa.Array | None, partitions: Rows, zone: str) -> pa.Array:
    """Return for each row the counter's value less that of the last row before it in its partition; null in a
    partition's first row, where the counter decreased, and where its start is later than before. Rows
    without a value count for nothing.

    ``starts``: since when the counter counts (null = as before); ``partitions``: the number of each row's
    partition, ascending; ``zone``: the session's time zone. Raises COUNTER_DIFF_NEGATIVE_COUNTER_VALUE and
    COUNTER_DIFF_START_TIME_DECREASED.
    """
    valid = valid_mask(counts)
    rows = np.arange(len(counts)) if valid is None else np.flatnonzero(valid)
    values = gather(counts, row_indices(rows))
    values = values.cast(logical(values.type))
    _refuse_negative(values)
    partitions = partitions[rows]
    goes_on = np.zeros(len(rows), np.bool_)
    goes_on[1:] = (partitions[1:] == partitions[:-1]) & ~_decreases(values)
    if starts is not None:
        goes_on &= ~_starts_anew(gather(starts, row_indices(rows)), partitions, zone)
    before = np.maximum(np.arange(len(rows)) - 1, 0)
    changes = pc.subtract(values, gather(values, row_indices(before))).cast(values.type)
    places = np.zeros(len(counts), np.int64)
    places[rows] = np.arange(len(rows))
    found = np.zeros(len(counts), np.bool_)
    found[rows] = goes_on
    return changes.take(from_numpy(places, BIGINT, found)).cast(physical(values.type))


def _refuse_negative(values: pa.Array) -> None:
    negative = numpy_view(pc.less(values, scalar(0, values.type)))
    if negative.any():
        value = values.slice(int(negative.argmax()), 1)
        raise spark_error(
            "COUNTER_DIFF_NEGATIVE_COUNTER_VALUE",
            f"A negative counter value {_text(value)} was provided to function `counter_diff`. Negative "
            "counter values are not allowed.",
        )


def _text(value: pa.Array) -> str:
    """Return the text of the only number of a column."""
    if is_decimal(value.type):
        return str(decimal_to_string(value.type)(value.cast(physical(value.type)))[0])
    if pa.types.is_floating(value.type):
        return str(float_to_string(value.type)(value)[0])
    return str(value[0])


def _decreases(values: pa.Array) -> Mask:
    """Return for each value but the first whether it is less than the value before; NaN is the greatest."""
    before, later = values.slice(0, max(len(values) - 1, 0)), values.slice(1)
    less = numpy_view(pc.less(later, before)).astype(np.bool_)
    if pa.types.is_floating(values.type):
        less |= np.isnan(numpy_view(before)) & ~np.isnan(numpy_view(later))
    return less


def _starts_anew(starts: pa.Array, partitions: Rows, zone: str) -> Mask:
    """Return for each row whether the counter's start is later than that of the row before it in the
    partition."""
    valid, times = valid_mask(starts), numpy_view(starts).view(np.int64)
    comparable = partitions[1:] == partitions[:-1]
    if valid is not None:
        comparable &= valid[1:] & valid[:-1]
    decreased = np.flatnonzero(comparable & (times[1:] < times[:-1]))
    if len(decreased):
        pair = starts.slice(int(decreased[0]), 2)
        texts = timestamp_ntz_to_string(to_wall_clock(pair, zone) if pair.type == TIMESTAMP else pair)
        raise spark_error(
            "COUNTER_DIFF_START_TIME_DECREASED",
            f"Start time provided to function `counter_diff` decreased from {texts[0]} to {texts[1]}. Start "
            "time is required to be non-decreasing.",
        )
    anew = np.zeros(len(starts), np.bool_)
    anew[1:] = comparable & (times[1:] > times[:-1])
    return anew
