"""The registry of the functions that are only window functions: ranking functions, and functions that return
the value of another row.

Every aggregate function is a window function too (:mod:`sqlfront_values.functions.windows.frames`).
"""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec
import numpy as np
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_numpy, numpy_view, valid_mask
from sqlfront_values.columns.batches import Mask, Rows
from sqlfront_values.columns.window_rows import PositionRanges, WindowRows
from sqlfront_values.errors import InternalError
from sqlfront_values.functions.registry import ArgumentType, Kind, ResultType
from sqlfront_values.functions.windows import counters
from sqlfront_values.functions.windows.placed import PlacedColumn
from sqlfront_values.functions.windows.sessions import merged_sessions
from sqlfront_values.types import BIGINT, DOUBLE, INT, STRING


class WindowInvocation(msgspec.Struct, frozen=True):
    """The input of a window function's kernel.

    ``rows`` are the rows of the window's partitions, and ``frame`` has the range of positions of each row's
    frame. ``arguments`` are the columns of the arguments that are not constant, in the window's order (one
    partition after the other, each sorted by ORDER BY), and ``constants`` the values of the constant
    arguments. ``ignore_nulls`` is True for a call with IGNORE NULLS."""

    rows: WindowRows
    frame: PositionRanges
    arguments: Sequence[pa.Array]
    constants: tuple[object, ...]
    ignore_nulls: bool = False

    def constant(self, position: int, default: int) -> int:
        """Return the value of the constant argument number ``position``, counted among the constant
        arguments, which is a whole number; ``default`` if the call has no such argument."""
        value = self.constants[position] if position < len(self.constants) else default
        assert isinstance(value, int)
        return value


WindowKernel = Callable[[WindowInvocation], pa.Array | PlacedColumn]


class WindowFunction(msgspec.Struct, frozen=True):
    """The entry of a window function in the registry.

    ``arguments`` holds the types of all positions; a call may omit the last ``optional`` of them. ``result``
    is the logical type, or a function from the coerced argument types to it. ``kernel`` computes the values
    of all rows of a window from a :class:`WindowInvocation`. The arguments at the positions ``constants``
    must be constant; the arguments at ``like_first`` are cast to the first argument's type. ``needs_order``:
    a call without ORDER BY is refused. ``uses_frame``: the call may have a frame. ``takes_nulls_clause``: the
    call may have IGNORE NULLS. ``display`` replaces the function's name in the names of result columns, and
    ``shown_defaults`` are the values shown there for the last optional arguments if the call leaves them out.
    """

    name: str
    arguments: tuple[ArgumentType, ...]
    result: ResultType
    kernel: WindowKernel
    optional: int = 0
    constants: tuple[int, ...] = ()
    like_first: tuple[int, ...] = ()
    needs_order: bool = True
    uses_frame: bool = False
    takes_nulls_clause: bool = False
    shown_defaults: tuple[str, ...] = ()
    display: str | None = None
    example: tuple[str, str] | None = None

    def result_type(self, argument_types: tuple[pa.DataType, ...]) -> pa.DataType:
        """Return the function's logical result type for arguments of these logical types, after coercion."""
        return self.result(argument_types) if callable(self.result) else self.result


_WINDOWS: Final[dict[str, WindowFunction]] = {}


def lookup_window(name: str) -> WindowFunction | None:
    """Return the entry of the window function with this name, in lower case; None for any other name, also
    for the name of an aggregate function."""
    return _WINDOWS.get(name)


def window_names() -> tuple[str, ...]:
    """Return the names of all registered window functions, sorted."""
    return tuple(sorted(_WINDOWS))


def _register(*functions: WindowFunction) -> None:
    for function in functions:
        if function.name in _WINDOWS:
            raise InternalError(f"window function {function.name} is registered twice")
        _WINDOWS[function.name] = function


# ---- ranking


def _row_number(call: WindowInvocation) -> pa.Array:
    return _int(np.arange(1, len(call.rows) + 1) - call.rows.partitions.starts)


def _rank(call: WindowInvocation) -> pa.Array:
    return _int(_ranks(call.rows))


def _dense_rank(call: WindowInvocation) -> pa.Array:
    first_peers = np.arange(len(call.rows)) == call.rows.peers.starts
    groups = np.cumsum(first_peers)
    return _int(groups - groups[call.rows.partitions.starts] + 1)


def _percent_rank(call: WindowInvocation) -> pa.Array:
    others = call.rows.partitions.lengths() - 1
    return from_numpy((_ranks(call.rows) - 1) / np.maximum(others, 1), DOUBLE)


def _cume_dist(call: WindowInvocation) -> pa.Array:
    partitions = call.rows.partitions
    return from_numpy((call.rows.peers.ends - partitions.starts) / partitions.lengths(), DOUBLE)


def _ntile(call: WindowInvocation) -> pa.Array:
    buckets = call.constant(0, 1)
    partitions = call.rows.partitions
    size, larger = np.divmod(partitions.lengths(), buckets)
    number = np.arange(len(call.rows)) - partitions.starts
    # The first ``larger`` buckets have one row more than the others.
    in_larger = larger * (size + 1)
    return _int(
        np.where(
            number < in_larger,
            number // (size + 1),
            larger + (number - in_larger) // np.maximum(size, 1),
        )
        + 1
    )


def _ranks(rows: WindowRows) -> Rows:
    return rows.peers.starts - rows.partitions.starts + 1


def _int(values: Rows) -> pa.Array:
    return from_numpy(values.astype(np.int32), INT)


# ---- values at other positions


def _lead(call: WindowInvocation) -> PlacedColumn:
    return _shifted(call, call.constant(0, 1))


def _lag(call: WindowInvocation) -> PlacedColumn:
    return _shifted(call, -call.constant(0, 1))


def _shifted(call: WindowInvocation, offset: int) -> PlacedColumn:
    """Return for each row the value of the row that is ``offset`` rows later, or earlier if negative; with
    IGNORE NULLS only rows with a non-null value count. Outside of the row's partition the result is the
    default, which is the call's last argument, or null if the call has no default."""
    values, partitions = call.arguments[0], call.rows.partitions
    if call.ignore_nulls and offset:
        positions, found = _nth_valid(values, call.rows, partitions, offset)
    else:
        positions = np.arange(len(call.rows)) + offset
        found = (positions >= partitions.starts) & (positions < partitions.ends)
    if len(call.arguments) == 1:
        return PlacedColumn(values, np.where(found, positions, 0), found)
    return choose(values, positions, found, call.arguments[1])


def _nth_valid(values: pa.Array, rows: WindowRows, within: PositionRanges, offset: int) -> tuple[Rows, Mask]:
    """Find for each row the ``offset``-th next row whose value is not null, or the previous one if ``offset``
    is negative.

    Return the positions of the rows found, and a mask of the rows for which the found row lies in the row's
    range of ``within``; where the mask is False, the position is 0."""
    valid = valid_mask(values)
    chosen = np.arange(len(rows)) if valid is None else np.flatnonzero(valid)
    before = _valid_before(values, len(rows))
    positions = np.arange(len(rows))
    wanted = before[positions + 1] + offset - 1 if offset > 0 else before[positions] + offset
    found = (wanted >= before[within.starts]) & (wanted < before[within.ends])
    return _at(chosen, wanted, found), found


def _valid_before(values: pa.Array, length: int) -> Rows:
    """Return for each position, and for the end, how many of the values before it are not null: ``length +
    1`` numbers."""
    valid = valid_mask(values)
    if valid is None:
        return np.arange(length + 1)
    before = np.zeros(length + 1, np.int64)
    np.cumsum(valid, out=before[1:])
    return before


def _nth_value(call: WindowInvocation) -> PlacedColumn:
    values, frame, number = call.arguments[0], call.frame, call.constant(0, 1) - 1
    if not call.ignore_nulls:
        positions = frame.starts + number
        found = positions < frame.ends
        return PlacedColumn(values, np.where(found, positions, 0), found)
    return frame_edge(values, frame, number, last=False, ignore_nulls=True)


def frame_edge(
    values: pa.Array, frame: PositionRanges, number: int, *, last: bool, ignore_nulls: bool
) -> PlacedColumn:
    """Return for each row the value ``number`` rows (from 0) after the first row of its frame or, with
    ``last``, before the last row of its frame; null if the frame is too short. With ``ignore_nulls`` only
    rows with a non-null value count."""
    length = len(values)
    starts, ends, chosen = frame.starts, frame.ends, np.arange(length)
    if ignore_nulls:
        before = _valid_before(values, length)
        starts, ends = before[starts], before[ends]
        valid = valid_mask(values)
        chosen = chosen if valid is None else np.flatnonzero(valid)
    wanted = ends - 1 - number if last else starts + number
    found = (wanted >= starts) & (wanted < ends)
    return PlacedColumn(values, _at(chosen, wanted, found), found)


def _at(chosen: Rows, wanted: Rows, found: Mask) -> Rows:
    """Return ``chosen[wanted]`` where ``found`` is True, else 0; ``wanted`` may be out of bounds where not
    found."""
    if len(chosen) == 0:
        return np.zeros(len(wanted), np.int64)
    return np.where(found, chosen[np.where(found, wanted, 0)], 0)


def choose(values: pa.Array, positions: Rows, found: Mask, otherwise: pa.Array) -> PlacedColumn:
    """Return for each row the value of ``values`` at the row's position in ``positions`` if ``found`` is True
    for the row, else the row's value of ``otherwise``."""
    if otherwise.type != values.type:
        otherwise, values = (
            column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
            for column in (otherwise, values)
        )
    rows = np.where(found, positions, len(values) + np.arange(len(positions)))
    return PlacedColumn(pa.concat_arrays([values, otherwise]), rows)


# ---- sessions


def _merge_sessions(call: WindowInvocation) -> pa.Array:
    """Return the merged session of each session; the window is ordered by the sessions."""
    column = call.arguments[0]
    fields = column.flatten()
    starts, ends = (numpy_view(field).astype(np.int64) for field in fields)
    merged = merged_sessions(starts, ends, call.rows.ids.astype(np.int64))
    children = [from_numpy(part, field.type) for part, field in zip(merged, fields, strict=True)]
    return pa.StructArray.from_arrays(children, fields=list(column.type))


def _counter_diff(call: WindowInvocation) -> pa.Array:
    """Return the differences of a counter; the last constant is the session's time zone, for messages."""
    counts, *starts = call.arguments
    zone = call.constants[-1]
    assert isinstance(zone, str)
    return counters.differences(counts, starts[0] if starts else None, call.rows.ids, zone)


#: The rows of the examples, which show the result for the last row.
_ROWS: Final = "FROM VALUES (1), (1), (2) AS t(x) ORDER BY x DESC LIMIT 1"


def _first_type(types: tuple[pa.DataType, ...]) -> pa.DataType:
    return types[0]


_register(
    *(
        WindowFunction(
            name,
            (),
            result,
            kernel,
            display=display,
            example=(f"SELECT {name}() OVER (ORDER BY x) {_ROWS}", example),
        )
        for name, result, kernel, display, example in (
            ("row_number", INT, _row_number, None, "3"),
            ("rank", INT, _rank, "RANK", "3"),
            ("dense_rank", INT, _dense_rank, "DENSE_RANK", "2"),
            ("percent_rank", DOUBLE, _percent_rank, "PERCENT_RANK", "1.0"),
            ("cume_dist", DOUBLE, _cume_dist, None, "1.0"),
        )
    ),
    WindowFunction(
        "ntile",
        (INT,),
        INT,
        _ntile,
        optional=1,
        constants=(0,),
        shown_defaults=("1",),
        example=(f"SELECT ntile(2) OVER (ORDER BY x) {_ROWS}", "2"),
    ),
    *(
        WindowFunction(
            name,
            (Kind.ANY, INT, Kind.ANY),
            _first_type,
            kernel,
            optional=2,
            constants=(1,),
            like_first=(2,),
            takes_nulls_clause=True,
            shown_defaults=("1", "NULL"),
            example=(f"SELECT {name}(x, 1, 0) OVER (ORDER BY x) {_ROWS}", example),
        )
        for name, kernel, example in (("lead", _lead, "0"), ("lag", _lag, "1"))
    ),
    WindowFunction(
        "counter_diff",
        (Kind.NUMERIC, Kind.ANY_TIMESTAMP, STRING),
        _first_type,
        _counter_diff,
        optional=2,
        constants=(2,),
        example=(f"SELECT counter_diff(x) OVER (ORDER BY x) {_ROWS}", "1"),
    ),
    WindowFunction(
        "nth_value",
        (Kind.ANY, BIGINT),
        _first_type,
        _nth_value,
        constants=(1,),
        needs_order=True,
        uses_frame=True,
        takes_nulls_clause=True,
        example=(f"SELECT nth_value(x, 3) OVER (ORDER BY x) {_ROWS}", "2"),
    ),
    WindowFunction(
        "merge sessions",
        (Kind.STRUCT,),
        _first_type,
        _merge_sessions,
        example=(
            (
                "SELECT session_window.end FROM VALUES (TIMESTAMP'2024-01-01 11:27:00') AS v(ts) "
                "GROUP BY session_window(ts, '1 hour')"
            ),
            "datetime.datetime(2024, 1, 1, 12, 27)",
        ),
    ),
)
