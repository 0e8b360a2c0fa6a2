"""Functions over JSON texts: get_json_object, json_array_length, json_object_keys, to_json."""

import base64
import json
import re
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from functools import lru_cache
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow.arrays import field_keys
from sqlfront_values.arrow.forms import Datum
from sqlfront_values.casts.interval_texts import interval_text
from sqlfront_values.errors import NotSupportedError, spark_error
from sqlfront_values.functions import growth
from sqlfront_values.functions.json.values import (
    JsonError,
    JsonObject,
    JsonValue,
    parse_json,
    write_json,
    write_string,
)
from sqlfront_values.functions.registry import Invocation, Kind, ScalarFunction, register
from sqlfront_values.functions.rowwise import by_row, columnar, row_kernel
from sqlfront_values.functions.time.formatting import Moment, formatter
from sqlfront_values.java.civil import MICROS_PER_MINUTE
from sqlfront_values.java.floats import float_text
from sqlfront_values.java.surrogates import well_formed
from sqlfront_values.types import FLOAT, INT, STRING, TIMESTAMP, VOID, IntervalType, ddl, is_variant, sql_name
from sqlfront_values.variants.reading import variant_of
from sqlfront_values.variants.texts import json_text
from sqlfront_values.zones.wall_clock import wall_clock

_STRINGS: Final = pa.list_(STRING)


def _parsed(text: str) -> tuple[JsonValue] | None:
    """Return the value of a JSON text, in a tuple of one item (as the value may be None); None if the text is
    not JSON."""
    try:
        return (parse_json(text),)
    except (JsonError, RecursionError):
        return None


def _array_length(text: str) -> int | None:
    match _parsed(text):
        case (list() as items,):
            return len(items)
        case _:
            return None


def _object_keys(text: str) -> list[str] | None:
    match _parsed(text):
        case (JsonObject() as value,):
            return [well_formed(name) for name, _ in value.members]
        case _:
            return None


# ---- paths


class PathStep(Enum):
    """A step of a JSON path, as ``get_json_object`` takes it, that is neither a name (a str) nor an index (an
    int): all elements of an array (EACH, ``[*]``), or any member of an object (ANY, ``.*``), which, as in
    Spark, finds nothing."""

    EACH = "[*]"
    """Every element of an array."""
    ANY = ".*"
    """Any member; Spark's evaluation never finds a member."""


Path = tuple[str | int | PathStep, ...]

_STEP: Final = re.compile(
    r"\s*(?:(?P<any>\.\s*\*|\['\*'\])|\.\s*(?P<name>[^.\[]+)|\['\s*(?P<quoted>[^'?]+)'\]"
    r"|\[\s*(?P<each>\*)\s*\]|\[\s*(?P<index>\d+)\s*\])"
)


@lru_cache(maxsize=256)
def parse_path(text: str) -> Path | None:
    """Parse a JSON path, such as ``get_json_object`` takes, to its steps: names, indexes and
    :class:`PathStep`. Returns None if the path is malformed or does not begin with ``$``.

    >>> parse_path("$.a[0]['b c'][*]")
    ('a', 0, 'b c', <PathStep.EACH: '[*]'>)
    """
    start = re.compile(r"\s*\$").match(text)
    if start is None:
        return None
    steps: list[str | int | PathStep] = []
    place = start.end()
    while place < len(text):
        match = _STEP.match(text, place)
        if match is None:
            return None
        if match["any"]:
            steps.append(PathStep.ANY)
        elif match["each"]:
            steps.append(PathStep.EACH)
        else:
            steps.append(int(match["index"]) if match["index"] else match["name"] or match["quoted"])
        place = match.end()
    return tuple(steps)


class _HalfPairError(ValueError):
    """An error for a value that ``get_json_object`` would copy with half a surrogate pair, which can't be
    written without its escape."""


class Style(Enum):
    """The form in which :func:`matches` writes a value: a string without quotes, all else as JSON (RAW),
    everything as JSON (QUOTED), or as JSON with the elements of an array as separate texts (FLATTENED)."""

    RAW = "raw"
    """A string without quotes."""
    QUOTED = "quoted"
    """As JSON."""
    FLATTENED = "flattened"
    """As JSON, the elements of arrays one by one."""


def matches(value: JsonValue, path: Path, style: Style) -> list[str]:
    """Return the texts of the values that ``path`` selects in ``value``, by the rules of Spark's
    ``GetJsonObject``; an empty list if the path selects none. ``style``: the form of the texts.

    Of several members of one name, the first counts whose value is not null and has a match. Several matches
    of a step ``[*]`` become one text, a JSON array; a single match is written without brackets. The list has
    more than one text only for an array in the style FLATTENED: one text for each element."""
    if not path:
        return _whole(value, style)
    step, rest = path[0], path[1:]
    if isinstance(value, JsonObject) and isinstance(step, str):
        for name, item in value.members:
            if name == step and item is not None and (found := matches(item, rest, style)):
                return found
        return []
    if isinstance(value, list):
        if isinstance(step, int):
            inner = Style.QUOTED if rest[:1] == (PathStep.EACH,) else style
            return matches(value[step], rest, inner) if step < len(value) else []
        if step is PathStep.EACH:
            return _each(value, rest, style)
    return []


def _whole(value: JsonValue, style: Style) -> list[str]:
    if isinstance(value, str) and style is Style.RAW:
        return [value]
    if isinstance(value, list) and style is Style.FLATTENED:
        return [text for item in value for text in _whole(item, style)]
    return [write_json(value)]


def _each(items: list[JsonValue], rest: Path, style: Style) -> list[str]:
    if rest[:1] == (PathStep.EACH,):
        found = [text for item in items for text in matches(item, rest[1:], Style.FLATTENED)]
        return [f"[{','.join(found)}]"] if found else []
    if style is Style.QUOTED:
        found = [text for item in items for text in matches(item, rest, Style.QUOTED)]
        return [f"[{','.join(found)}]"] if found else []
    inner = Style.QUOTED if style is Style.RAW else Style.FLATTENED
    groups = [group for item in items if (group := matches(item, rest, inner))]
    texts = ",".join(text for group in groups for text in group)
    if not _is_writable(texts):
        raise _HalfPairError("half a surrogate pair")
    return [] if not groups else [texts] if len(groups) == 1 else [f"[{texts}]"]


def _is_writable(texts: str) -> bool:
    """Return whether the JSON texts can be copied as Spark copies them, with escapes resolved; False if they
    hold half a surrogate pair, which has no text without its escape."""
    if "\\uD" not in texts:
        return True
    characters = json.dumps(json.loads(f"[{texts}]"), ensure_ascii=False)
    return well_formed(characters) == characters


def _get_json_object(text: str, path: str) -> str | None:
    steps, parsed = parse_path(path), _parsed(text)
    if steps is None or parsed is None:
        return None
    try:
        found = matches(parsed[0], steps, Style.RAW)
    except _HalfPairError:
        return None
    # Half a surrogate pair can't be written without its escape.
    return found[0] if found and well_formed(found[0]) == found[0] else None


# ---- to JSON

#: A function that writes a value that is not null.
Writer = Callable[[object], str]
_EPOCH: Final = datetime(1970, 1, 1)
_EPOCH_UTC: Final = _EPOCH.replace(tzinfo=UTC)
_TICK: Final = timedelta(microseconds=1)


def writer(data_type: pa.DataType, zone: str) -> Writer:
    """Return the function that writes a value of ``data_type``, not null, as JSON text; timestamps are
    written as the wall clock of the time zone ``zone`` shows them. Raises NotSupportedError for types that
    can't be written."""
    if pa.types.is_struct(data_type):
        return _struct_writer(data_type, zone)
    if pa.types.is_map(data_type):
        item = _nullable(writer(data_type.item_type, zone))
        if data_type.key_type not in (STRING, VOID):
            raise NotSupportedError(f"to_json of {ddl(data_type)}")
        return lambda pairs: _braces(f"{write_string(key)}:{item(value)}" for key, value in pairs)  # type: ignore[attr-defined]
    if pa.types.is_list(data_type):
        element = _nullable(writer(data_type.value_type, zone))
        return lambda items: f"[{','.join(map(element, items))}]"  # type: ignore[call-overload]
    if data_type == TIMESTAMP:
        return lambda value: write_string(_instant_text(value, zone))
    if is_variant(data_type):
        return lambda value: json_text(variant_of(value), zone)  # type: ignore[arg-type]
    if isinstance(data_type, IntervalType):
        return lambda value: write_string(interval_text(_amount(value), data_type))
    single = data_type == FLOAT
    return lambda value: _plain(value, single=single)


def _amount(value: object) -> int:
    """Return the months or microseconds of an interval's Python value."""
    assert isinstance(value, timedelta | int)
    return value // _TICK if isinstance(value, timedelta) else value


def _struct_writer(data_type: pa.StructType, zone: str) -> Writer:
    """Return the function that writes a struct, a Python value of ``data_type``, as a JSON object; null
    fields are left out."""
    writers = [
        (key, write_string(field.name), writer(field.type, zone))
        for key, field in zip(field_keys(data_type), data_type, strict=True)
    ]

    def write(value: object) -> str:
        assert isinstance(value, dict)
        return _braces(
            f"{quoted}:{write_field(value[key])}"
            for key, quoted, write_field in writers
            if value[key] is not None
        )

    return write


def _braces(members: Iterable[str]) -> str:
    return f"{{{','.join(members)}}}"


def _nullable(write: Writer) -> Writer:
    return lambda value: "null" if value is None else write(value)


def _instant_text(value: object, zone: str) -> str:
    assert isinstance(value, datetime)
    micros = (value - _EPOCH_UTC) // _TICK
    local = int(wall_clock(np.array([micros]), zone)[0])
    offset = local - micros
    letters = "XXX" if offset % MICROS_PER_MINUTE == 0 else "XXXXX"
    return formatter(f"yyyy-MM-dd'T'HH:mm:ss.SSS{letters}")(Moment(local, offset, zone))


def _plain(value: object, *, single: bool) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            text = float_text(value, single=single)
            return text if text[-1].isdigit() else f'"{text}"'
        case Decimal():
            return str(value)
        case int():
            return str(value)
        case str():
            return write_string(value)
        case bytes():
            return write_string(base64.b64encode(value).decode())
        case datetime():
            moment = Moment((value - _EPOCH) // _TICK, 0, "UTC")
            return write_string(formatter("yyyy-MM-dd'T'HH:mm:ss.SSS")(moment))
        case date():
            return write_string(f"{value.year:04}-{value.month:02}-{value.day:02}")
        case _:
            raise NotSupportedError(f"to_json of {type(value).__name__}")


@columnar
def _to_json(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    data_type = invocation.argument_types[0]
    if not pa.types.is_nested(data_type) and not is_variant(data_type):
        raise spark_error(
            "DATATYPE_MISMATCH.INVALID_JSON_SCHEMA",
            f'Input schema "{sql_name(data_type)}" must be a struct, an array, a map or a variant.',
        )
    return by_row(writer(data_type, invocation.settings.time_zone), arguments, invocation)


register(
    ScalarFunction(
        "get_json_object",
        (STRING, STRING),
        STRING,
        row_kernel(_get_json_object),
        exact=(0, 1),
        example=("get_json_object('{\"a\":[1,2]}', '$.a[1]')", "'2'"),
    ),
    ScalarFunction(
        "json_array_length",
        (STRING,),
        INT,
        row_kernel(_array_length),
        exact=(0,),
        example=("json_array_length('[1, [2, 3]]')", "2"),
    ),
    ScalarFunction(
        "json_object_keys",
        (STRING,),
        _STRINGS,
        row_kernel(_object_keys),
        exact=(0,),
        example=('json_object_keys(\'{"a":1,"b":2}\')', "['a', 'b']"),
    ),
    ScalarFunction(
        "to_json",
        (Kind.ANY,),
        STRING,
        _to_json,
        growth=growth.times(8),
        example=("to_json(named_struct('a', 1, 'b', null))", "'{\"a\":1}'"),
    ),
)
