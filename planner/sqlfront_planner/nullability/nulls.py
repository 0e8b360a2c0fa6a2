"""The places of a column's values that may be null: the value itself, and the values inside of it."""

from typing import NamedTuple

import pyarrow as pa


class Nulls(NamedTuple):
    """Whether a value may be null, as Spark's schema says. ``parts``: the same for the values inside, of a
    list its elements, of a map its values, of a struct its fields; empty for other types."""

    value: bool
    parts: tuple["Nulls", ...] = ()

    def __or__(self, other: "Nulls") -> "Nulls":
        """Return where a value may be null that is one of two values of one type."""
        pairs = zip(self.parts, other.parts, strict=True)
        return Nulls(self.value or other.value, tuple(one | two for one, two in pairs))

    def if_any(self, value: bool) -> "Nulls":
        """Return the same, with the value itself nullable if it was or ``value`` is True."""
        return self if self.value or not value else Nulls(True, self.parts)


def everywhere(data_type: pa.DataType) -> Nulls:
    """Return the nulls of a type whose values, and all values inside, may be null.

    >>> everywhere(pa.list_(pa.int32()))
    Nulls(value=True, parts=(Nulls(value=True, parts=()),))
    """
    return Nulls(True, tuple(everywhere(part) for part in inner_types(data_type)))


def nowhere(data_type: pa.DataType) -> Nulls:
    """Return the nulls of a type without nulls."""
    return Nulls(False, tuple(nowhere(part) for part in inner_types(data_type)))


def inner_types(data_type: pa.DataType) -> tuple[pa.DataType, ...]:
    """Return the types of the values inside a type, those of a map without the keys."""
    if pa.types.is_struct(data_type):
        return tuple(field.type for field in data_type)
    if pa.types.is_map(data_type):
        return (data_type.item_type,)
    return (data_type.value_type,) if pa.types.is_list(data_type) else ()


def of_value(value: object, data_type: pa.DataType) -> Nulls:
    """Return where the constant ``value`` of a literal has nulls."""
    if value is None:
        return everywhere(data_type)
    kinds = inner_types(data_type)
    if pa.types.is_struct(data_type):
        assert isinstance(value, dict)
        fields = zip(value.values(), kinds, strict=True)
        return Nulls(False, tuple(of_value(item, kind) for item, kind in fields))
    if not kinds:
        return Nulls(False)
    assert isinstance(value, list)
    items = [item[1] for item in value] if pa.types.is_map(data_type) else value
    inside = nowhere(kinds[0])
    for item in items:
        inside |= of_value(item, kinds[0])
    return Nulls(False, (inside,))
