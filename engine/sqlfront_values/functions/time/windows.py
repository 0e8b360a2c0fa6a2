"""Windows of time: tumbling and sliding windows, the end of a session, and the time of a window.

A window is a struct of its start and its end, which the window doesn't contain. Widths are microseconds on
the time line since 1970 UTC, so that a change of the clocks doesn't move windows."""

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_numpy, numpy_view, to_python, valid_mask
from sqlfront_values.arrow.forms import Datum, full_array, plain
from sqlfront_values.casts.calendar_texts import CalendarInterval, calendar_interval
from sqlfront_values.columns.batches import Mask
from sqlfront_values.columns.lists import put_together
from sqlfront_values.errors import spark_error
from sqlfront_values.functions import growth
from sqlfront_values.functions.registry import Invocation, Kind, ScalarFunction, register
from sqlfront_values.functions.rowwise import columnar, micros_of
from sqlfront_values.functions.time.arithmetic import move_instants
from sqlfront_values.java.civil import MICROS_PER_DAY
from sqlfront_values.types import BIGINT, BOOLEAN, STRING, TIMESTAMP_NTZ

Integers = npt.NDArray[np.int64]
#: Bytes of a window in a list: start and end, and the list's working space.
_PER_WINDOW: Final = 64


def window_type(moment: pa.DataType) -> pa.StructType:
    """Return the type of a window of timestamps of the type ``moment``."""
    return pa.struct([("start", moment), ("end", moment)])


def _constant(datum: Datum) -> int:
    """Return the value of an argument that is the same in all rows."""
    value = (datum[0] if isinstance(datum, pa.Array) else datum).as_py()
    assert isinstance(value, int)
    return value


def _windows(kind: pa.StructType, starts: Integers, ends: Integers, valid: Mask | None) -> pa.Array:
    """Return the column of windows; ``valid`` is False where a window is null."""
    children = [from_numpy(values, kind.field(0).type) for values in (starts, ends)]
    mask = None if valid is None else from_numpy(~valid, BOOLEAN)
    return pa.StructArray.from_arrays(children, fields=list(kind), mask=mask)


def _checked(exact: "npt.NDArray[np.floating]") -> None:
    """Raise ARITHMETIC_OVERFLOW if one of the microseconds, computed as floats, isn't in the range of a
    BIGINT."""
    if len(exact) and float(np.abs(exact).max()) >= 2.0**63:
        raise spark_error("ARITHMETIC_OVERFLOW", "long overflow.")


@columnar
def _window(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """The tumbling window of each timestamp: the arguments are the timestamp, the width, and the offset of
    the first window from 1970."""
    moment = full_array(arguments[0], invocation.length)
    width, first = _constant(arguments[1]), _constant(arguments[2])
    instants = micros_of(moment)
    starts = instants - np.mod(instants - first, width)
    _checked(starts + float(width))
    return _windows(invocation.type, starts, starts + width, valid_mask(moment))


@columnar
def _sliding_windows(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """The list of the windows that contain each timestamp, the last one first: the arguments are the
    timestamp, the width, the distance between two windows, and the offset of the first one from 1970."""
    moment = full_array(arguments[0], invocation.length)
    width, slide, first = map(_constant, arguments[1:])
    valid = valid_mask(moment)
    instants = micros_of(moment)
    past = np.mod(instants - first, slide)
    counts = -((past - width) // slide)
    if valid is not None:
        counts = np.where(valid, counts, 0)
    newest = np.repeat(instants - past, counts)
    numbers = np.arange(len(newest)) - np.repeat(np.cumsum(counts) - counts, counts)
    _checked(newest - numbers * float(slide))
    _checked(newest - numbers * float(slide) + width)
    starts = newest - numbers * slide
    elements = _windows(invocation.type.value_type, starts, starts + width, None)
    return put_together(invocation.type, elements, counts, valid)


def _bytes_of_windows(arguments: tuple[Datum, ...], rows: int) -> int:
    return rows * (_constant(arguments[1]) // _constant(arguments[2]) + 1) * _PER_WINDOW


def _gaps(texts: Datum, length: int) -> tuple[Integers, Integers, Integers, Mask]:
    """Return the months, days and microseconds of the texts of intervals, and a mask that is False for a text
    that is no interval. Equal texts are read once."""
    if isinstance(texts, pa.Scalar):
        known = [calendar_interval(texts.as_py()) if texts.is_valid else None]
        places = np.zeros(length, np.int64)
    else:
        coded = plain(texts).dictionary_encode()
        known = [calendar_interval(str(text)) for text in to_python(coded.dictionary)]
        known.append(None)
        codes = numpy_view(coded.indices).astype(np.int64)
        is_text = valid_mask(coded.indices)
        places = codes if is_text is None else np.where(is_text, codes, len(known) - 1)
    table = np.array([part or CalendarInterval(0, 0, 0) for part in known], np.int64).reshape(-1, 3)
    is_known = np.array([part is not None for part in known], np.bool_)
    months, days, micros = table[places].T
    return months, days, micros, is_known[places]


@columnar
def _session_end(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """The timestamp plus the interval in a text: the end of a session without later rows."""
    moment = full_array(arguments[0], invocation.length)
    months, days, micros, is_known = _gaps(arguments[1], invocation.length)
    known = valid_mask(moment)
    valid = is_known if known is None else is_known & known
    starts = np.where(valid, micros_of(moment), 0)
    months, days, micros = (np.where(valid, part, 0) for part in (months, days, micros))
    zone = "UTC" if invocation.type == TIMESTAMP_NTZ else invocation.settings.time_zone
    ends = move_instants(starts, months, zone, in_months=True)
    ends = move_instants(ends, days * MICROS_PER_DAY, zone, in_months=False)
    return from_numpy(move_instants(ends, micros, "UTC", in_months=False), invocation.type, valid)


@columnar
def _session_window(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """The struct of a session's start and end."""
    columns = [full_array(argument, invocation.length) for argument in arguments]
    return pa.StructArray.from_arrays(columns, fields=list(invocation.type))


@columnar
def _window_time(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """The last microsecond of each window."""
    window = full_array(arguments[0], invocation.length)
    ends = window.flatten()[1]
    return from_numpy(micros_of(ends) - 1, invocation.type, valid_mask(ends))


def _of_first(types: tuple[pa.DataType, ...]) -> pa.DataType:
    return window_type(types[0])


_ONE: Final = "TIMESTAMP'2024-01-01 11:27:00'"
_GROUPED: Final = "(SELECT {} FROM VALUES (" + _ONE + ") AS v(ts) GROUP BY {})"


def _example(shown: str, call: str) -> str:
    return _GROUPED.format(shown, call)


def _entry(
    name: str,
    arguments: tuple[pa.DataType | Kind, ...],
    result: Callable[[tuple[pa.DataType, ...]], pa.DataType],
    kernel: Callable[[tuple[Datum, ...], Invocation], Datum],
    example: tuple[str, str],
    size: growth.Growth | None = None,
) -> ScalarFunction:
    return ScalarFunction(
        name,
        arguments,
        result,
        kernel,
        can_fail=True,
        growth=size or growth.times(4),
        example=example,
        null_propagating=False,
    )


register(
    _entry(
        "window",
        (Kind.ANY_TIMESTAMP, BIGINT, BIGINT),
        _of_first,
        _window,
        (_example("window.start", "window(ts, '1 hour')"), "datetime.datetime(2024, 1, 1, 11, 0)"),
    ),
    _entry(
        "sliding windows",
        (Kind.ANY_TIMESTAMP, BIGINT, BIGINT, BIGINT),
        lambda types: pa.list_(window_type(types[0])),
        _sliding_windows,
        (
            _example("window.start", "window(ts, '1 hour', '59 minutes')"),
            "datetime.datetime(2024, 1, 1, 10, 54)",
        ),
        _bytes_of_windows,
    ),
    _entry(
        "session end",
        (Kind.ANY_TIMESTAMP, STRING),
        lambda types: types[0],
        _session_end,
        (
            _example("session_window.end", "session_window(ts, '1 hour')"),
            "datetime.datetime(2024, 1, 1, 12, 27)",
        ),
    ),
    _entry(
        "session_window",
        (Kind.ANY_TIMESTAMP, Kind.ANY_TIMESTAMP),
        _of_first,
        _session_window,
        (
            _example("session_window.start", "session_window(ts, '1 hour')"),
            "datetime.datetime(2024, 1, 1, 11, 27)",
        ),
    ),
    _entry(
        "window_time",
        (Kind.STRUCT,),
        lambda types: types[0].field(1).type,
        _window_time,
        (
            f"(SELECT window_time(window({_ONE}, '1 hour')))",
            "datetime.datetime(2024, 1, 1, 11, 59, 59, 999999)",
        ),
    ),
)
