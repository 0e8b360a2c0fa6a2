"""Functions over JSON texts: get_json_object, json_array_length, json_object_keys, to_json."""

import json
import re
from enum import Enum
from functools import lru_cache
from typing import Final, TypeGuard

import pyarrow as pa

from sqlfront_values.arrow.forms import Datum
from sqlfront_values.errors import spark_error
from sqlfront_values.functions import growth
from sqlfront_values.functions.json.column_writing import ColumnWriter
from sqlfront_values.functions.json.path_columns import PathReader, Steps
from sqlfront_values.functions.json.value_writing import writer
from sqlfront_values.functions.json.values import (
    JsonError,
    JsonObject,
    JsonValue,
    parse_json,
    write_json,
)
from sqlfront_values.functions.json.variant_writing import column_texts
from sqlfront_values.functions.registry import Invocation, Kind, ScalarFunction, register
from sqlfront_values.functions.rowwise import by_row, columnar, row_kernel
from sqlfront_values.java.surrogates import well_formed
from sqlfront_values.types import INT, STRING, VARIANT, is_variant, sql_name
from sqlfront_values.variants.columns import FEW_ROWS, OddVariantsError, parts_of

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


@columnar
def _get_json_objects(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    texts, path = arguments
    steps = parse_path(path.as_py()) if isinstance(path, pa.Scalar) and path.is_valid else None
    if isinstance(texts, pa.Array) and steps and _is_simple(steps):
        text = path.as_py()
        return PathReader(steps, lambda row: _get_json_object(row, text)).column(texts)
    return by_row(_get_json_object, arguments, invocation)


def _is_simple(steps: Path) -> TypeGuard[Steps]:
    """Return whether the path consists of names and indexes, and begins with a name."""
    return isinstance(steps[0], str) and not any(isinstance(step, PathStep) for step in steps)


# ---- to JSON


def _variant_texts(column: pa.Array, invocation: Invocation) -> pa.Array:
    if len(column) >= FEW_ROWS:
        try:
            parts = parts_of(column)
            return parts.spread(column_texts(parts), len(column))
        except (OddVariantsError, RecursionError):
            pass
    return by_row(writer(VARIANT, invocation.settings.time_zone), (column,), invocation)


@columnar
def _to_json(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    data_type = invocation.argument_types[0]
    if not pa.types.is_nested(data_type) and not is_variant(data_type):
        raise spark_error(
            "DATATYPE_MISMATCH.INVALID_JSON_SCHEMA",
            f'Input schema "{sql_name(data_type)}" must be a struct, an array, a map or a variant.',
        )
    column = arguments[0]
    assert isinstance(column, pa.Array)
    if is_variant(data_type):
        return _variant_texts(column, invocation)
    return ColumnWriter(invocation.settings.time_zone).texts(column, data_type)


register(
    ScalarFunction(
        "get_json_object",
        (STRING, STRING),
        STRING,
        _get_json_objects,
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
