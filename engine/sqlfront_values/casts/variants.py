"""Casts between variants and other types.

A column of variants may hold values of many types. The cast collects the values of each type and casts them
together, with the casts of that type; parts of arrays, maps and structs likewise, level by level. Whatever
the inner cast refuses becomes null, or Spark's error INVALID_VARIANT_CAST.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_numpy, from_values, numpy_view
from sqlfront_values.arrow.forms import from_unscaled, unscaled
from sqlfront_values.casts.numbers import Convert
from sqlfront_values.columns.batches import Integers, Mask
from sqlfront_values.columns.lists import entries, inner, put_together
from sqlfront_values.errors import DatabaseError, spark_error
from sqlfront_values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    decimal,
    is_decimal,
    is_integral,
    is_time,
    is_variant,
    physical,
    sql_name,
)
from sqlfront_values.variants import building, layout
from sqlfront_values.variants.columns import (
    FEW_ROWS,
    OddVariantsError,
    VariantParts,
    heads_of,
    parts_of,
    type_of,
)
from sqlfront_values.variants.reading import Type, Variant, variant_of
from sqlfront_values.variants.texts import decimal_shown, json_text

#: A function that makes the cast of a logical type to another whose refused values become null; None if there
#: is no such cast.
MakeCast = Callable[[pa.DataType, pa.DataType], Convert | None]

_SOURCES: Final[dict[Type, tuple[pa.DataType, Callable[[Variant], object]]]] = {
    Type.BOOLEAN: (BOOLEAN, Variant.boolean),
    Type.LONG: (BIGINT, Variant.integer),
    Type.STRING: (STRING, Variant.string),
    Type.DOUBLE: (DOUBLE, Variant.number),
    Type.FLOAT: (FLOAT, Variant.number),
    Type.DATE: (DATE, Variant.integer),
    Type.TIMESTAMP: (TIMESTAMP, Variant.integer),
    Type.TIMESTAMP_NTZ: (TIMESTAMP_NTZ, Variant.integer),
    Type.BINARY: (BINARY, Variant.binary),
    Type.UUID: (STRING, lambda variant: str(variant.uuid())),
}
#: The types whose values are read by columns.
_COLUMNS: Final[dict[Type, tuple[pa.DataType, Callable[[VariantParts], pa.Array]]]] = {
    Type.BOOLEAN: (BOOLEAN, lambda parts: from_numpy(parts.heads >> 2 == layout.TRUE, BOOLEAN)),
    Type.LONG: (BIGINT, lambda parts: from_numpy(parts.integers(), BIGINT)),
    Type.STRING: (STRING, lambda parts: parts.texts()),
    Type.DOUBLE: (DOUBLE, lambda parts: from_numpy(parts.numbers("<f8"), DOUBLE)),
    Type.FLOAT: (FLOAT, lambda parts: from_numpy(parts.numbers("<f4"), FLOAT)),
    Type.DATE: (DATE, lambda parts: from_numpy(parts.numbers("<i4"), DATE)),
    Type.TIMESTAMP: (TIMESTAMP, lambda parts: from_numpy(parts.integers(), TIMESTAMP)),
    Type.TIMESTAMP_NTZ: (TIMESTAMP_NTZ, lambda parts: from_numpy(parts.integers(), TIMESTAMP_NTZ)),
}
#: The types whose values are numbers in variants.
_STORAGE: Final = {DATE: INT, TIMESTAMP: BIGINT, TIMESTAMP_NTZ: BIGINT}
_MOST_SECONDS: Final = (2**63 - 1) // 1_000_000


def invalid_cast(variant: Variant, target: pa.DataType, zone: str) -> DatabaseError:
    """Build Spark's error INVALID_VARIANT_CAST."""
    return spark_error(
        "INVALID_VARIANT_CAST",
        f'The variant value `{json_text(variant, zone)}` cannot be cast into `"{sql_name(target)}"`. Please'
        " use `try_variant_get` instead.",
    )


def can_cast(source: pa.DataType, target: pa.DataType, *, fields: bool = False) -> bool:
    """Return whether Spark casts between two logical types, one of which is VARIANT; ``fields``: whether maps
    and structs become objects, as by ``to_variant_object`` alone.

    >>> from sqlfront_values.types import INT, VARIANT
    >>> can_cast(VARIANT, pa.map_(INT, INT)), can_cast(pa.list_(INT), VARIANT)
    (False, True)
    """
    if is_variant(source):
        return _is_taken(target)
    return _is_made(source, fields=fields)


def _is_taken(target: pa.DataType) -> bool:
    if pa.types.is_list(target):
        return _is_taken(target.value_type)
    if pa.types.is_map(target):
        return target.key_type == STRING and _is_taken(target.item_type)
    if pa.types.is_struct(target):
        return all(_is_taken(field.type) for field in target)
    return is_variant(target) or is_time(target) or _is_plain(target)


def _is_made(source: pa.DataType, *, fields: bool) -> bool:
    if pa.types.is_list(source):
        return _is_made(source.value_type, fields=fields)
    if fields and pa.types.is_map(source):
        return source.key_type == STRING and _is_made(source.item_type, fields=True)
    if fields and pa.types.is_struct(source):
        return all(_is_made(field.type, fields=True) for field in source)
    return is_variant(source) or _is_plain(source)


def _is_plain(data_type: pa.DataType) -> bool:
    return data_type in _PLAIN or is_integral(data_type) or is_decimal(data_type)


_PLAIN: Final = frozenset({BOOLEAN, FLOAT, DOUBLE, STRING, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ})


# ---- from variants


class FromVariants:
    """The cast of variants to other types. ``safe``: a value that doesn't fit becomes null, else the cast
    raises INVALID_VARIANT_CAST. ``zone``: the session's time zone."""

    def __init__(self, make: MakeCast, zone: str, *, safe: bool) -> None:
        self._make = make
        self._zone = zone
        self._safe = safe

    def convert(self, target: pa.DataType) -> Convert:
        """Return the cast to ``target`` as a function of arrays in physical form."""

        is_plain = _is_plain(target)

        def convert(values: pa.Array) -> pa.Array:
            if is_plain and len(values) >= FEW_ROWS:
                try:
                    return _outer(self._plain_values(values, target), target)
                except OddVariantsError:
                    pass
            rows = values.to_pylist()
            return self.column([None if row is None else variant_of(row) for row in rows], target)

        return convert

    def column(self, variants: Sequence[Variant | None], target: pa.DataType) -> pa.Array:
        """Cast the variants (None = null) to ``target``; return the column in physical form."""
        return _outer(self._part(variants, target), target)

    def _part(self, variants: Sequence[Variant | None], target: pa.DataType) -> pa.Array:
        """Return the column in the form that children of nested arrays have."""
        if is_variant(target):
            return from_values(
                [None if variant is None else building.rebuilt(variant) for variant in variants], BINARY
            )
        known = [None if each is None or each.type is Type.NULL else each for each in variants]
        if pa.types.is_list(target):
            return self._lists(self._only(known, Type.ARRAY, target), target)
        if pa.types.is_map(target):
            return self._maps(self._only(known, Type.OBJECT, target), target)
        if pa.types.is_struct(target):
            return self._structs(self._only(known, Type.OBJECT, target), target)
        return self._atoms(known, target)

    def _only(
        self, variants: Sequence[Variant | None], wanted: Type, target: pa.DataType
    ) -> list[Variant | None]:
        """Return the variants of one type; others are refused."""
        found: list[Variant | None] = []
        for variant in variants:
            fits = variant is None or variant.type is wanted
            if variant is not None and not fits:
                self._refuse(variant, target)
            found.append(variant if fits else None)
        return found

    def _refuse(self, variant: Variant, target: pa.DataType) -> None:
        """Raise the error of a variant that can't be cast, unless the cast is safe."""
        if not self._safe:
            raise invalid_cast(variant, target, self._zone)

    def _lists(self, variants: Sequence[Variant | None], target: pa.ListType) -> pa.Array:
        lists = [None if variant is None else list(variant.elements()) for variant in variants]
        elements = self._part([item for each in lists for item in each or ()], target.value_type)
        return put_together(physical(target), elements, *_lengths(lists))

    def _maps(self, variants: Sequence[Variant | None], target: pa.MapType) -> pa.Array:
        maps = [None if variant is None else list(variant.fields()) for variant in variants]
        pairs = [pair for each in maps for pair in each or ()]
        keys = from_values([name for name, _ in pairs], STRING)
        items = self._part([value for _, value in pairs], target.item_type)
        form = physical(target)
        return put_together(form, entries(form, keys, items), *_lengths(maps))

    def _structs(self, variants: Sequence[Variant | None], target: pa.StructType) -> pa.Array:
        children = []
        for field in target:
            found = [None if variant is None else variant.field(field.name) for variant in variants]
            children.append(self._part(found, field.type))
        nulls = from_values([variant is None for variant in variants], BOOLEAN)
        return pa.StructArray.from_arrays(children, fields=list(physical(target)), mask=nulls)

    def _atoms(self, variants: Sequence[Variant | None], target: pa.DataType) -> pa.Array:
        places: dict[tuple[Type, int], list[int]] = {}
        for place, variant in enumerate(variants):
            if variant is not None:
                kind = variant.type
                scale = variant.stripped()[1] if kind is Type.DECIMAL else 0
                places.setdefault((kind, scale), []).append(place)
        pieces = []
        for (kind, scale), found in places.items():
            chosen = [variant for place in found if (variant := variants[place]) is not None]
            pieces.append((np.array(found), self._of_one_type(chosen, kind, scale, target)))
        return self._joined(pieces, variants.__getitem__, len(variants), target)

    def _joined(
        self,
        pieces: Sequence[tuple[Integers, pa.Array]],
        variant_at: Callable[[int], Variant | None],
        length: int,
        target: pa.DataType,
    ) -> pa.Array:
        """Return the column of ``length`` rows that has the values of each piece, in physical form, in the
        piece's rows. A null in a piece is a refused value, the variant ``variant_at(row)``."""
        refused = [int(rows[numpy_view(piece.is_null())].min()) for rows, piece in pieces if piece.null_count]
        variant = variant_at(min(refused)) if refused else None
        if variant is not None:
            self._refuse(variant, target)
        if not pieces:
            return pa.nulls(length, _child_form(target))
        order, valid = np.zeros(length, np.int64), np.zeros(length, np.bool_)
        rows = np.concatenate([rows for rows, _ in pieces])
        order[rows], valid[rows] = np.arange(len(rows)), True
        values = [inner(piece) for _, piece in pieces]
        joined = values[0] if len(values) == 1 else pa.concat_arrays(values)
        if len(values) == 1 and len(rows) == length:
            return joined
        return joined.take(from_numpy(order, BIGINT, valid))

    def _plain_values(self, values: pa.Array, target: pa.DataType) -> pa.Array:
        """Cast a column of variants to the plain type ``target``, all values of one type at once; return the
        column in the form that children of nested arrays have. Raises OddVariantsError."""
        parts = parts_of(values)
        pieces: list[tuple[Integers, pa.Array]] = []

        def variant_at(row: int) -> Variant:
            return variant_of(values[row].as_py())

        for kind in {type_of(head) for head in np.unique(parts.heads).tolist()} - {Type.NULL}:
            chosen = parts.only(np.isin(parts.heads, heads_of(kind)))
            if kind is Type.DECIMAL:
                pieces += self._decimals(chosen, target)
            elif kind in _COLUMNS:
                source, read = _COLUMNS[kind]
                pieces.append((chosen.rows, self._cast(source, read(chosen), target)))
            else:
                variants = [variant_at(row) for row in chosen.rows.tolist()]
                pieces.append((chosen.rows, self._of_one_type(variants, kind, 0, target)))
        return self._joined(pieces, variant_at, len(values), target)

    def _decimals(self, parts: VariantParts, target: pa.DataType) -> list[tuple[Integers, pa.Array]]:
        """Cast decimals of at most 18 digits; return the rows and the values of each scale."""
        if target == TIMESTAMP:  # more seconds than a timestamp holds are refused
            raise OddVariantsError
        numbers, scales = parts.decimals()
        pieces = []
        for scale in np.unique(scales).tolist():
            source, chosen = decimal(18, scale), scales == scale
            values = from_numpy(numbers[chosen], physical(source))
            pieces.append((parts.rows[chosen], self._cast(source, values, target)))
        return pieces

    def _of_one_type(
        self, variants: Sequence[Variant], kind: Type, scale: int, target: pa.DataType
    ) -> pa.Array:
        """Cast variants of one type, decimals of one scale; return the column in physical form, null where
        the cast refuses a value."""
        if target == STRING and kind in (Type.OBJECT, Type.ARRAY):
            return from_values([json_text(variant, self._zone) for variant in variants], STRING)
        if target == STRING and kind is Type.DECIMAL:
            return from_values([decimal_shown(variant) for variant in variants], STRING)
        if kind in (Type.OBJECT, Type.ARRAY):
            return pa.nulls(len(variants), physical(target))
        if kind is Type.DECIMAL:
            source = decimal(38, scale)
            numbers: list[int | None] = [variant.stripped()[0] for variant in variants]
            if target == TIMESTAMP:
                numbers = [number if _is_moment(number, scale) else None for number in numbers]
            values: pa.Array = from_unscaled(numbers, source)
        else:
            source, read = _SOURCES[kind]
            given = [read(variant) for variant in variants]
            stored = _STORAGE.get(source)
            values = from_values(given, source) if stored is None else from_values(given, stored).view(source)
        return self._cast(source, values, target)

    def _cast(self, source: pa.DataType, values: pa.Array, target: pa.DataType) -> pa.Array:
        """Cast values in physical form; return null for each value that the cast refuses."""
        if source == BIGINT and target == TIMESTAMP:
            seconds = numpy_view(values).astype(np.int64, copy=False)
            # A timestamp holds no more seconds.
            values = from_numpy(seconds, BIGINT, (seconds >= -_MOST_SECONDS) & (seconds <= _MOST_SECONDS))
        convert = self._make(source, target)
        return pa.nulls(len(values), physical(target)) if convert is None else convert(values)


def _outer(column: pa.Array, target: pa.DataType) -> pa.Array:
    """Return a column of the form that children of nested arrays have in physical form."""
    return column.cast(physical(target)) if is_decimal(target) else column


def _is_moment(number: int | None, scale: int) -> bool:
    """Return whether a timestamp holds ``number / 10**scale`` seconds."""
    return number is not None and abs(number) * 1_000_000 < 2**63 * 10**scale


def _lengths(values: Sequence[Sequence[object] | None]) -> tuple[Integers, Mask]:
    lengths = np.array([0 if value is None else len(value) for value in values], np.int64)
    return lengths, np.array([value is not None for value in values], np.bool_)


def _child_form(target: pa.DataType) -> pa.DataType:
    return target if is_decimal(target) else physical(target)


# ---- to variants


def to_variant(source: pa.DataType) -> Convert:
    """Make the cast of a type to VARIANT, as a function of arrays in physical form. Maps and structs become
    objects. The cast raises VARIANT_DUPLICATE_KEY, and VARIANT_SIZE_LIMIT."""
    encode = _encoder(source)

    def convert(values: pa.Array) -> pa.Array:
        rows: list[bytes | None] = []
        for value in _stored(values, source):
            if value is None:
                rows.append(None)
                continue
            builder = building.VariantBuilder()
            try:
                rows.append(builder.row(encode(value, builder)))
            except building.VariantKeyError as error:
                raise building.duplicate_key(error.key) from None
            except building.VariantSizeError:
                raise building.too_large("cast") from None
        return from_values(rows, BINARY)

    return convert


def _stored(values: pa.Array, kind: pa.DataType) -> list[object]:
    """Return the values as Python objects; dates and timestamps as their numbers, decimals as unscaled
    numbers, a map as its pairs, a struct as the list of its fields."""
    if pa.types.is_struct(kind):
        parts = [_stored(child, field.type) for child, field in zip(values.flatten(), kind, strict=True)]
        rows: list[object] = [list(row) for row in zip(*parts, strict=True)] if parts else [[]] * len(values)
        return _unless_null(values, rows)
    if pa.types.is_list(kind) or pa.types.is_map(kind):
        offsets = values.offsets.to_pylist()
        first, last = offsets[0], offsets[-1]
        if pa.types.is_list(kind):
            items = _stored(values.values.slice(first, last - first), kind.value_type)
        else:
            keys = _stored(values.keys.slice(first, last - first), kind.key_type)
            items = list(
                zip(keys, _stored(values.items.slice(first, last - first), kind.item_type), strict=True)
            )
        lists: list[object] = [
            items[begin - first : end - first] for begin, end in itertools.pairwise(offsets)
        ]
        return _unless_null(values, lists)
    if is_decimal(kind):
        return list(unscaled(values))
    stored = _STORAGE.get(kind)
    if stored is not None:
        return values.view(stored).to_pylist()
    return values.to_pylist()


def _unless_null(values: pa.Array, rows: list[object]) -> list[object]:
    if not values.null_count:
        return rows
    return [row if known else None for row, known in zip(rows, values.is_valid().to_pylist(), strict=True)]


#: Encodes a value, as :func:`_stored` gives it, as a part of the variant that the builder makes.
_Encode = Callable[[object, building.VariantBuilder], bytes]


def _encoder(kind: pa.DataType) -> _Encode:
    if pa.types.is_list(kind):
        return _list_encoder(_nullable(_encoder(kind.value_type)))
    if pa.types.is_map(kind):
        return _map_encoder(_nullable(_encoder(kind.item_type)))
    if pa.types.is_struct(kind):
        return _struct_encoder([(field.name, _nullable(_encoder(field.type))) for field in kind])
    if is_variant(kind):
        return lambda value, builder: builder.copied(variant_of(value))  # type: ignore[arg-type]
    if is_decimal(kind):
        scale = kind.scale
        return lambda value, builder: building.scaled(value, scale)  # type: ignore[arg-type]
    encode = building.integer if is_integral(kind) else _ATOMS[kind]
    return lambda value, builder: encode(value)  # type: ignore[arg-type]


_ATOMS: Final[dict[pa.DataType, Callable[..., bytes]]] = {
    BOOLEAN: building.boolean,
    FLOAT: building.single,
    DOUBLE: building.double,
    STRING: building.string,
    BINARY: building.binary,
    DATE: building.date,
    TIMESTAMP: building.timestamp,
    TIMESTAMP_NTZ: building.timestamp_ntz,
}


def _nullable(encode: _Encode) -> _Encode:
    return lambda value, builder: building.NULL if value is None else encode(value, builder)


def _list_encoder(encode: _Encode) -> _Encode:
    def encode_list(value: object, builder: building.VariantBuilder) -> bytes:
        assert isinstance(value, list)
        return building.array([encode(item, builder) for item in value])

    return encode_list


def _map_encoder(encode: _Encode) -> _Encode:
    def encode_map(value: object, builder: building.VariantBuilder) -> bytes:
        assert isinstance(value, list)
        fields = []
        for name, item in value:
            number = builder.id_of(name)
            fields.append((name, number, encode(item, builder)))
        return builder.object(fields)

    return encode_map


def _struct_encoder(encoders: Sequence[tuple[str, _Encode]]) -> _Encode:
    def encode_struct(value: object, builder: building.VariantBuilder) -> bytes:
        assert isinstance(value, list)
        fields = []
        for (name, encode), item in zip(encoders, value, strict=True):
            number = builder.id_of(name)
            fields.append((name, number, encode(item, builder)))
        return builder.object(fields)

    return encode_struct
