"""Datetimes from and to texts: date_format, from_unixtime, to_date, to_timestamp, unix_timestamp."""

from collections.abc import Callable
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_numpy, from_values, numpy_view, scalar, valid_mask
from sqlfront_values.arrow.forms import Datum, full_array
from sqlfront_values.casts import compile_cast
from sqlfront_values.errors import DatabaseError, DataError, spark_error
from sqlfront_values.functions import growth
from sqlfront_values.functions.registry import (
    Invocation,
    Kernel,
    Kind,
    PreparedKernel,
    ScalarFunction,
    Signature,
    register,
)
from sqlfront_values.functions.rowwise import by_row, columnar, local_instant, map_values, nulls
from sqlfront_values.functions.text.patterns import re2
from sqlfront_values.functions.time.calendar_dates import Days, Integers, by_day, civil_from_days, weekday
from sqlfront_values.functions.time.column_formatting import format_local
from sqlfront_values.functions.time.formatting import DAYS, MONTHS, Moment, formatter
from sqlfront_values.functions.time.parsing import ParseError, parser
from sqlfront_values.java.civil import MICROS_PER_SECOND
from sqlfront_values.types import BIGINT, DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ, is_string
from sqlfront_values.zones.wall_clock import from_wall_clock, wall_clock

DEFAULT_PATTERN: Final = "yyyy-MM-dd HH:mm:ss"

# ---- to text


def format_instants(instants: pa.Array, pattern: str, zone: str) -> pa.Array:
    """Format each timestamp by the datetime ``pattern``, as the local time of ``zone``. Raises
    INVALID_DATETIME_PATTERN or INCONSISTENT_BEHAVIOR_CROSS_VERSION for a pattern that Spark refuses;
    NotSupportedError if the pattern has the name of a time zone that isn't UTC, GMT or a fixed offset."""
    micros = _micros(instants)
    local = wall_clock(micros, zone)
    return format_local(local, local - micros, zone, pattern, valid_mask(instants))


def _micros(instants: pa.Array) -> Integers:
    return numpy_view(instants).astype(np.int64, copy=False)


@columnar
def _date_format(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    return _format(arguments[0], arguments[1], invocation)


def _format(instants: Datum, pattern: Datum, invocation: Invocation) -> pa.Array:
    zone = invocation.settings.time_zone
    if isinstance(instants, pa.Array) and isinstance(pattern, pa.Scalar):
        if not pattern.is_valid:
            return nulls(invocation)
        return format_instants(instants, pattern.as_py(), zone)

    def one(micros: int, text: str) -> str:
        local = int(wall_clock(np.array([micros]), zone)[0])
        return formatter(text)(Moment(local, local - micros, zone))

    return by_row(one, (_as_bigint(instants), pattern), invocation)


def _as_bigint(instants: Datum) -> Datum:
    if isinstance(instants, pa.Scalar):
        return pa.repeat(instants, 1).view(pa.int64())[0]
    return instants.view(pa.int64())


@columnar
def _from_unixtime(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    seconds = arguments[0]
    column = pa.repeat(seconds, invocation.length) if isinstance(seconds, pa.Scalar) else seconds
    with np.errstate(over="ignore"):
        micros = _micros(column) * MICROS_PER_SECOND
    instants = from_numpy(micros, TIMESTAMP, valid_mask(column))
    pattern = arguments[1] if len(arguments) > 1 else scalar(DEFAULT_PATTERN, STRING)
    return _format(instants, pattern, invocation)


def _names(names: tuple[str, ...], index: Callable[[Days], Integers]) -> Kernel:
    """Make a kernel over dates that returns the first three letters of the date's entry in ``names`` (of
    weekdays or months); ``index`` computes the positions in ``names`` from dates."""
    short = from_values([name[:3] for name in names], STRING)

    @columnar
    def kernel(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        column = arguments[0]
        indices = by_day(index, numpy_view(column))  # type: ignore[arg-type]
        return short.take(from_numpy(indices, BIGINT, valid_mask(column)))

    return kernel


# ---- from text

#: Patterns whose plain texts Arrow's cast reads with the same result.
_PLAIN: Final = {
    "yyyy-MM-dd": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
    DEFAULT_PATTERN: r"^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}$",
}
_ZONE_LETTERS: Final = frozenset("VvzOXxZ")


def parse_instants(column: pa.Array, pattern: str, target: pa.DataType, zone: str, *, safe: bool) -> pa.Array:
    """Parse a string column by a datetime pattern to timestamps, or to local times if ``target`` is
    timestamp_ntz. A text that names no zone is a local time of ``zone``.

    A text that does not fit the pattern gives null with ``safe``; without it, CANNOT_PARSE_TIMESTAMP is
    raised.
    """
    is_local = target == TIMESTAMP_NTZ
    quick = _parse_plain(column, pattern)
    if quick is not None:
        return _from_local(quick, target, zone)
    if is_local or not _ZONE_LETTERS & set(pattern):
        local = map_values(lambda text: _parse(text, pattern, target, safe=safe)[0], column, BIGINT)
        return _from_local(local, target, zone)

    def instant(text: str) -> int | None:
        local, own_zone = _parse(text, pattern, target, safe=safe)
        if local is None or own_zone is None:
            return None if local is None else _instant(local, zone)
        try:
            return _instant(local, own_zone)
        except DataError:  # Spark's parser reads no name of a zone that doesn't exist
            if safe:
                return None
            raise _unparsed(text, "could not be parsed", target) from None

    return map_values(instant, column, BIGINT).view(TIMESTAMP)


def _parse_plain(column: pa.Array, pattern: str) -> pa.Array | None:
    regex = _PLAIN.get(pattern)
    plain = None if regex is None else re2.find(column, regex, len(regex))
    if plain is None or plain.true_count < len(column) - column.null_count:
        return None
    try:
        return pc.call_function("cast", [column], pc.CastOptions.safe(TIMESTAMP_NTZ))
    except pa.ArrowInvalid:
        return None


def _from_local(local: pa.Array, target: pa.DataType, zone: str) -> pa.Array:
    clock = local.view(TIMESTAMP_NTZ)
    return clock if target == TIMESTAMP_NTZ else from_wall_clock(clock, zone)


def _parse(
    text: str, pattern: str, target: pa.DataType, *, safe: bool
) -> tuple[int | None, int | str | None]:
    try:
        parsed = parser(pattern)(text)
    except ParseError as error:
        if safe:
            return None, None
        raise _unparsed(text, str(error), target) from None
    return parsed.local, parsed.zone


def _unparsed(text: str, why: str, target: pa.DataType) -> DatabaseError:
    """Make the error CANNOT_PARSE_TIMESTAMP for a text; ``why`` is the rest of the sentence ``Text '...'`` in
    the message. ``target`` is the type to parse to; it decides which ``try_`` function the message
    suggests."""
    function = "try_to_date" if target == DATE else "try_to_timestamp"
    return spark_error(
        "CANNOT_PARSE_TIMESTAMP",
        f"Text '{text}' {why}. Use `{function}` to tolerate invalid input string and return NULL instead.",
    )


def _instant(local: int, zone: int | str) -> int:
    return local - zone * MICROS_PER_SECOND if isinstance(zone, int) else local_instant(local, zone)


def _reading(target: pa.DataType, *, safe: bool = False) -> Callable[[Signature], PreparedKernel]:
    """Return a function that makes the kernel of to_date, to_timestamp or a similar function with the result
    type ``target``. The kernel parses if the call has a pattern and its first argument is a string, else it
    casts. With ``safe`` a text that can't be read gives null instead of an error."""

    def prepare(signature: Signature) -> PreparedKernel:
        source, settings = signature.argument_types[0], signature.settings
        if len(signature.argument_types) == 1 or not is_string(source):
            return _casting(compile_cast(source, target, safe=safe, settings=settings))
        to_target = compile_cast(TIMESTAMP, target, safe=safe, settings=settings)
        invocation_type = TIMESTAMP_NTZ if target == TIMESTAMP_NTZ else TIMESTAMP

        @columnar
        def read(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
            texts, pattern = arguments
            if isinstance(texts, pa.Array) and isinstance(pattern, pa.Scalar):
                if not pattern.is_valid:
                    return pa.nulls(invocation.length, target)
                instants = parse_instants(texts, pattern.as_py(), target, settings.time_zone, safe=safe)
            else:
                instants = _parse_by_row(texts, pattern, invocation, target, safe=safe)
            return instants if target == TIMESTAMP_NTZ else to_target(instants)

        types = signature.argument_types
        return lambda arguments, length: read(arguments, Invocation(invocation_type, types, length, settings))

    return prepare


def _casting(cast: Callable[[Datum], Datum]) -> PreparedKernel:
    """Make a kernel that casts the first argument and ignores the other, the pattern, even if the pattern is
    null: patterns apply to strings only."""
    return lambda arguments, length: cast(arguments[0])


def _parse_by_row(
    texts: Datum, pattern: Datum, invocation: Invocation, target: pa.DataType, *, safe: bool
) -> pa.Array:
    zone = "UTC" if target == TIMESTAMP_NTZ else invocation.settings.time_zone

    def one(text: str, by: str) -> int | None:
        local, own_zone = _parse(text, by, target, safe=safe)
        if local is None:
            return None
        return _instant(local, zone if own_zone is None or target == TIMESTAMP_NTZ else own_zone)

    numbers = Invocation(BIGINT, invocation.argument_types, invocation.length, invocation.settings)
    return by_row(one, (texts, pattern), numbers).view(invocation.type)


def _unix_timestamp(signature: Signature) -> PreparedKernel:
    """Make the kernel of unix_timestamp: whole seconds since 1970, rounded towards zero. A timestamp without
    a zone is read as UTC."""
    types = signature.argument_types
    target = TIMESTAMP_NTZ if types[0] == TIMESTAMP_NTZ else TIMESTAMP
    has_pattern = len(types) > 1
    read_types = types if has_pattern or not is_string(types[0]) else (*types, STRING)
    inner = Signature(target, read_types, signature.constants, signature.settings)
    read = _reading(target)(inner)
    default = scalar(DEFAULT_PATTERN, STRING)

    @columnar
    def seconds(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        given = arguments if len(arguments) == len(read_types) else (*arguments, default)
        instants = full_array(read(given, invocation.length), invocation.length)
        micros = _micros(instants)
        whole = np.sign(micros) * (np.abs(micros) // MICROS_PER_SECOND)
        return from_numpy(whole, BIGINT, valid_mask(instants))

    return lambda arguments, length: seconds(arguments, Invocation(BIGINT, types, length, signature.settings))


def _reader(
    name: str,
    target: pa.DataType,
    kind: Kind,
    prepare: Callable[[Signature], PreparedKernel],
    example: tuple[str, str],
    *,
    can_fail: bool = True,
    exact: tuple[int, ...] = (),
) -> ScalarFunction:
    return ScalarFunction(
        name,
        (kind, STRING),
        target,
        prepare=prepare,
        optional=1,
        null_propagating=False,
        can_fail=can_fail,
        exact=exact,
        example=example,
    )


_DAY: Final = "datetime.date(2020, 2, 29)"
_TIME: Final = "datetime.datetime(2020, 2, 29, 12, 30)"
_ANY: Final = Kind.STRING_OR_DATETIME

register(
    ScalarFunction(
        "date_format",
        (TIMESTAMP, STRING),
        STRING,
        _date_format,
        growth=growth.by_pattern,
        can_fail=True,
        example=("date_format(date'2020-02-29', 'EEEE, d MMM y')", "'Saturday, 29 Feb 2020'"),
    ),
    ScalarFunction(
        "from_unixtime",
        (BIGINT, STRING),
        STRING,
        _from_unixtime,
        growth=growth.by_pattern,
        optional=1,
        can_fail=True,
        example=("from_unixtime(0)", "'1970-01-01 00:00:00'"),
    ),
    ScalarFunction(
        "dayname",
        (DATE,),
        STRING,
        _names(DAYS, weekday),
        growth=growth.at_most(4),
        example=("dayname(date'2020-02-29')", "'Sat'"),
    ),
    ScalarFunction(
        "monthname",
        (DATE,),
        STRING,
        _names(MONTHS, lambda days: civil_from_days(days)[1] - 1),
        growth=growth.at_most(4),
        example=("monthname(date'2020-02-29')", "'Feb'"),
    ),
    _reader("to_date", DATE, Kind.TIMESTAMP_TEXT, _reading(DATE), ("to_date('29.2.2020', 'd.M.yyyy')", _DAY)),
    _reader(
        "try_to_date",
        DATE,
        Kind.TIMESTAMP_TEXT,
        _reading(DATE, safe=True),
        ("try_to_date('29.2.2020')", "None"),
        can_fail=False,
    ),
    *(
        _reader(name, target, kind, _reading(target), (f"{name}('29.2.20 12:30', 'd.M.yy HH:mm')", _TIME))
        for name, target, kind in (
            ("to_timestamp", TIMESTAMP, Kind.TIMESTAMP_SOURCE),
            ("to_timestamp_ltz", TIMESTAMP, Kind.TIMESTAMP_SOURCE),
            ("to_timestamp_ntz", TIMESTAMP_NTZ, Kind.TIMESTAMP_TEXT),
        )
    ),
    _reader(
        "try_to_timestamp",
        TIMESTAMP,
        Kind.TIMESTAMP_SOURCE,
        _reading(TIMESTAMP, safe=True),
        ("try_to_timestamp('29.2.2020')", "None"),
        can_fail=False,
    ),
    *(
        _reader(
            name,
            BIGINT,
            _ANY,
            _unix_timestamp,
            (f"{name}('2020-02-29', 'yyyy-MM-dd')", "1582934400"),
            exact=(1,),
        )
        for name in ("unix_timestamp", "to_unix_timestamp")
    ),
)
