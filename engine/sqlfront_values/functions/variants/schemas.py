"""The types of variants as texts, as ``schema_of_variant`` and ``schema_of_variant_agg`` tell them."""

import json
from typing import Final

import pyarrow as pa

from sqlfront_values.errors import InternalError
from sqlfront_values.functions.json.typed.inference import Items, Kind, ObjectFields, wider
from sqlfront_values.stacks import deep
from sqlfront_values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    VARIANT,
    VOID,
    ddl,
    decimal,
    quoted_if_odd,
    sql_name,
)
from sqlfront_values.variants.reading import Type, Variant

_PLAIN: Final[dict[Type, pa.DataType]] = {
    Type.NULL: VOID,
    Type.BOOLEAN: BOOLEAN,
    Type.LONG: BIGINT,
    Type.STRING: STRING,
    Type.DOUBLE: DOUBLE,
    Type.DATE: DATE,
    Type.TIMESTAMP: TIMESTAMP,
    Type.TIMESTAMP_NTZ: TIMESTAMP_NTZ,
    Type.FLOAT: FLOAT,
    Type.BINARY: BINARY,
    Type.UUID: STRING,
}


@deep
def schema_of(variant: Variant) -> Kind:
    """Return the type of a variant's value. An array's type covers all its elements."""
    kind = variant.type
    if kind is Type.OBJECT:
        return ObjectFields(tuple((name, schema_of(value)) for name, value in variant.fields()))
    if kind is Type.ARRAY:
        item: Kind = VOID
        for element in variant.elements():
            item = merged(item, schema_of(element))
        return Items(item)
    if kind is Type.DECIMAL:
        unscaled, scale = variant.stripped()
        return decimal(max(len(str(abs(unscaled))), scale), scale)
    return _PLAIN[kind]


def merged(left: Kind, right: Kind) -> Kind:
    """Return the type that covers two types of variants; VARIANT covers all types.

    >>> merged(BIGINT, STRING)
    variant
    """
    return wider(left, right, VARIANT)


def stored(kind: Kind) -> str:
    """Return a type of variants as a text that :func:`restored` reads."""
    return json.dumps(_plain(kind))


@deep
def _plain(kind: Kind) -> object:
    """Return the type as JSON values: that of an object or an array as a dict, any other by its name."""
    match kind:
        case ObjectFields(members):
            return {"object": [[name, _plain(inner)] for name, inner in members]}
        case Items(item):
            return {"array": _plain(item)}
        case _:
            assert isinstance(kind, pa.DataType)
            return ddl(kind)


def restored(text: str) -> Kind:
    """Return the type that a text of :func:`stored` means.

    >>> restored(stored(ObjectFields((("a", Items(decimal(3, 1))),))))
    ObjectFields(members=(('a', Items(item=Decimal128Type(decimal128(3, 1)))),))
    """
    return _kind(json.loads(text))


@deep
def _kind(value: object) -> Kind:
    match value:
        case str():
            return _named(value)
        case {"object": list() as members}:
            return ObjectFields(tuple((name, _kind(inner)) for name, inner in members))
        case {"array": item}:
            return Items(_kind(item))
        case _:
            raise InternalError(f"{value!r} is no type of variants")


def _named(name: str) -> pa.DataType:
    known = _NAMES.get(name)
    if known is not None:
        return known
    precision, scale = name.removeprefix("decimal(").removesuffix(")").split(",")
    return decimal(int(precision), int(scale))


_NAMES: Final = {ddl(kind): kind for kind in (*_PLAIN.values(), VARIANT)}


@deep
def schema_text(kind: Kind) -> str:
    """Return the text of a type of variants.

    >>> schema_text(ObjectFields((("a b", Items(BIGINT)),)))
    'OBJECT<`a b`: ARRAY<BIGINT>>'
    """
    match kind:
        case ObjectFields(members):
            fields = [f"{quoted_if_odd(name)}: {schema_text(inner)}" for name, inner in members]
            return f"OBJECT<{', '.join(fields)}>"
        case Items(item):
            return f"ARRAY<{schema_text(item)}>"
        case _:
            assert isinstance(kind, pa.DataType)
            return sql_name(kind)
