"""Variants as Python objects, as PySpark's ``VariantVal.toPython`` makes them."""

import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Final

from sqlfront_values.stacks import deep
from sqlfront_values.variants.reading import Type, Variant

_EPOCH: Final = datetime.datetime(1970, 1, 1)
_MICROSECOND: Final = datetime.timedelta(microseconds=1)


@deep
def python_value(variant: Variant) -> object:
    """Return a variant as a Python object: an object is a dict, an array a list, the variant null None, a
    timestamp an aware datetime in UTC. Raises OverflowError for a date or timestamp beyond Python's years."""
    match variant.type:
        case Type.OBJECT:
            return {name: python_value(value) for name, value in variant.fields()}
        case Type.ARRAY:
            return [python_value(value) for value in variant.elements()]
        case kind:
            return _PRIMITIVES[kind](variant)


def _moment(variant: Variant) -> datetime.datetime:
    return _EPOCH + variant.integer() * _MICROSECOND


_PRIMITIVES: Final[dict[Type, Callable[[Variant], object]]] = {
    Type.NULL: lambda variant: None,
    Type.BOOLEAN: Variant.boolean,
    Type.LONG: Variant.integer,
    Type.STRING: Variant.string,
    Type.DOUBLE: Variant.number,
    Type.FLOAT: Variant.number,
    Type.DECIMAL: lambda variant: Decimal(variant.scaled()[0]).scaleb(-variant.scaled()[1]),
    Type.DATE: lambda variant: _EPOCH.date() + datetime.timedelta(days=variant.integer()),
    Type.TIMESTAMP: lambda variant: _moment(variant).replace(tzinfo=datetime.UTC),
    Type.TIMESTAMP_NTZ: _moment,
    Type.BINARY: Variant.binary,
    Type.UUID: Variant.uuid,
}
