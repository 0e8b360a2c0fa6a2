"""Variants as JSON texts, as Spark's ``Variant.toJson`` writes them."""

import base64
import re
from collections.abc import Callable
from typing import Final

import numpy as np

from sqlfront_values.arrow.forms import decimal_text
from sqlfront_values.java.civil import MICROS_PER_DAY, civil_from_days, year_text
from sqlfront_values.java.floats import float_text
from sqlfront_values.stacks import deep
from sqlfront_values.variants.reading import Type, Variant
from sqlfront_values.zones.wall_clock import wall_clock

_TO_ESCAPE: Final = re.compile('["\\\\\x00-\x1f]')
_ESCAPES: Final = {
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\f": "\\f",
    "\r": "\\r",
    '"': '\\"',
    "\\": "\\\\",
}
_MINUTE: Final = 60_000_000


def quoted(text: str) -> str:
    """Return the text as a JSON string."""
    return f'"{_TO_ESCAPE.sub(_escaped, text)}"'


def _escaped(found: re.Match[str]) -> str:
    return _ESCAPES.get(found[0]) or f"\\u{ord(found[0]):04X}"


@deep
def json_text(variant: Variant, zone: str) -> str:
    """Return the JSON text of a variant; ``zone``: the time zone that timestamps are shown in. Raises
    MALFORMED_VARIANT."""
    kind = variant.type
    if kind is Type.OBJECT:
        members = [f"{quoted(name)}:{json_text(value, zone)}" for name, value in variant.fields()]
        return f"{{{','.join(members)}}}"
    if kind is Type.ARRAY:
        return f"[{','.join([json_text(value, zone) for value in variant.elements()])}]"
    return _PRIMITIVES[kind](variant, zone)


def decimal_shown(variant: Variant) -> str:
    """Return a decimal plainly, without trailing zeros."""
    return decimal_text(*variant.stripped())


def _double(variant: Variant, _zone: str, *, is_single: bool = False) -> str:
    text = float_text(variant.number(), single=is_single)
    return text if text[-1].isdigit() else f'"{text}"'


def _date(days: int) -> str:
    year, month, day = civil_from_days(days)
    return f"{year_text(year)}-{month:02}-{day:02}"


def _clock(micros: int) -> str:
    days, rest = divmod(micros, MICROS_PER_DAY)
    seconds, fraction = divmod(rest, 1_000_000)
    shown = f".{fraction:06}".rstrip("0").rstrip(".")
    return f"{_date(days)} {seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{shown}"


def _timestamp(variant: Variant, zone: str) -> str:
    micros = variant.integer()
    local = int(wall_clock(np.array([micros]), zone)[0])
    offset = local - micros
    sign, minutes = "-" if offset < 0 else "+", abs(offset) // _MINUTE
    return f'"{_clock(local)}{sign}{minutes // 60:02}:{minutes % 60:02}"'


_PRIMITIVES: Final[dict[Type, Callable[[Variant, str], str]]] = {
    Type.NULL: lambda variant, zone: "null",
    Type.BOOLEAN: lambda variant, zone: "true" if variant.boolean() else "false",
    Type.LONG: lambda variant, zone: str(variant.integer()),
    Type.STRING: lambda variant, zone: quoted(variant.string()),
    Type.DOUBLE: _double,
    Type.FLOAT: lambda variant, zone: _double(variant, zone, is_single=True),
    Type.DECIMAL: lambda variant, zone: decimal_shown(variant),
    Type.DATE: lambda variant, zone: f'"{_date(variant.integer())}"',
    Type.TIMESTAMP: _timestamp,
    Type.TIMESTAMP_NTZ: lambda variant, zone: f'"{_clock(variant.integer())}"',
    Type.BINARY: lambda variant, zone: f'"{base64.b64encode(variant.binary()).decode()}"',
    Type.UUID: lambda variant, zone: f'"{variant.uuid()}"',
}
