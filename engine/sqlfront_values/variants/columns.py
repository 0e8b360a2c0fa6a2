"""Parts of the variants of a column, found in all rows at once.

The steps of a path and the reading of plain values are those of :mod:`.reading`, over numpy arrays of places
in the column's bytes. Whatever isn't certainly well-formed raises :class:`OddVariantsError`, upon which the
caller goes row by row, and finds the error.
"""

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import from_numpy, numpy_view, valid_mask
from sqlfront_values.arrow.variant_rows import NO_NAMES, packed
from sqlfront_values.errors import DatabaseError
from sqlfront_values.types import BIGINT, BINARY, STRING
from sqlfront_values.variants import layout
from sqlfront_values.variants.layout import ARRAY, OBJECT, PRIMITIVE, SHORT_STRING
from sqlfront_values.variants.paths import Path
from sqlfront_values.variants.reading import TYPES, Type, names_of

Integers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
#: Zeros behind the bytes, so that a number that begins at the last byte can be read.
_PADDING: Final = np.zeros(8, np.uint8)
#: Different lengths of metadata, different metadata, and fields of objects up to which columns are quick.
_LENGTHS, _DICTIONARIES, _MOST_FIELDS = 32, 1024, 256
_HEAD: Final = np.frombuffer(packed(b"", NO_NAMES), np.uint8)
#: Bytes of a primitive value by its first byte; 0: not fixed.
_SIZES: Final = np.array(
    [layout.SIZES.get(first >> 2, 0) if first & 3 == PRIMITIVE else 0 for first in range(256)]
)
#: Fewer rows are handled one by one.
FEW_ROWS: Final = 32


class OddVariantsError(ValueError):
    """An error for variants that may be malformed, or that differ too much to be read together."""


class VariantParts:
    """Values in variants: row ``rows[i]`` of a column has the value at ``places[i]`` of the bytes, which ends
    before ``ends[i]``; ``names[i]`` is the number of the row's dictionary among the column's."""

    def __init__(
        self,
        data: Bytes,
        dictionaries: list[tuple[str, ...]],
        rows: Integers,
        names: Integers,
        places: Integers,
        ends: Integers,
    ) -> None:
        self.data = data
        self.dictionaries = dictionaries
        self.rows = rows
        self.names = names
        self.places = places
        self.ends = ends
        if np.any(places >= ends):
            raise OddVariantsError
        #: The first bytes of the values.
        self.heads = data[places]

    def only(self, chosen: npt.NDArray[np.bool_] | Integers) -> "VariantParts":
        """Return the chosen of the parts."""
        return self._at(self.places[chosen], chosen)

    def _at(self, places: Integers, chosen: npt.NDArray[np.bool_] | Integers) -> "VariantParts":
        return VariantParts(
            self.data, self.dictionaries, self.rows[chosen], self.names[chosen], places, self.ends[chosen]
        )

    def at_path(self, path: Path) -> "VariantParts":
        """Return the parts at the path, of the rows that have one."""
        found = self
        for step in path:
            found = found._field(step) if isinstance(step, str) else found._element(step)
        return found

    def _field(self, name: str) -> "VariantParts":
        ids = np.array([_id_of(name, names) for names in self.dictionaries], np.int64)[self.names]
        may_have = (self.heads & 3 == OBJECT) & (ids >= 0)
        objects, wanted = self.only(may_have), ids[may_have]
        entries = objects.entries()
        places = np.full(len(wanted), -1)
        for place in range(int(entries.counts.max(initial=0))):
            places[(entries.ids(place) == wanted) & (place < entries.counts) & (places < 0)] = place
        return entries.children(places)

    def _element(self, index: int) -> "VariantParts":
        entries = self.only(self.heads & 3 == ARRAY).entries()
        return entries.children(np.where(index < entries.counts, index, -1))

    def entries(self) -> "Entries":
        """Return the entries of the values, which are all objects or all arrays. Raises OddVariantsError for
        objects of very many fields."""
        return Entries(self)

    def children(self, parents: Integers, places: Integers) -> "VariantParts":
        """Return the values at ``places``, which are parts of the values with the numbers ``parents``."""
        return self._at(places, parents)

    def unsigned(self, places: Integers, sizes: Integers) -> Integers:
        """Return the unsigned numbers of ``sizes`` bytes, at most 4, at the places."""
        numbers = self.data[places].astype(np.int64)
        for place in range(1, int(sizes.max(initial=1))):
            numbers += np.where(place < sizes, self.data[places + place].astype(np.int64) << 8 * place, 0)
        return numbers

    def are_nested(self) -> npt.NDArray[np.bool_]:
        """Return which of the values are objects and arrays."""
        return self.heads & 3 >= OBJECT

    # ---- plain values

    def numbers(self, kind: str, skipped: int = 1) -> npt.NDArray[np.generic]:
        """Return the numbers behind the first ``skipped`` bytes of the values; ``kind``: numpy's type of the
        numbers, such as ``<i4``."""
        dtype = np.dtype(kind)
        if np.any(self.places + skipped + dtype.itemsize > self.ends):
            raise OddVariantsError
        spans = (self.places + skipped)[:, None] + np.arange(dtype.itemsize)
        return self.data[spans].view(dtype)[:, 0]

    def integers(self) -> Integers:
        """Return the values of longs; the days of dates; the microseconds of timestamps of either kind."""
        found = np.zeros(len(self.rows), np.int64)
        for head in np.unique(self.heads).tolist():
            chosen = self.heads == head
            found[chosen] = self.only(chosen).numbers(f"<i{layout.SIZES[head >> 2] - 1}")
        return found

    def decimals(self) -> tuple[Integers, Integers]:
        """Return the unscaled numbers and the scales of decimals of at most 18 digits, without zeros at the
        end of the fraction. Raises OddVariantsError for longer decimals."""
        numbers, scales = np.zeros(len(self.rows), np.int64), self.data[self.places + 1].astype(np.int64)
        for head in np.unique(self.heads).tolist():
            chosen, kind = self.heads == head, head >> 2
            if kind == layout.DECIMAL16:
                raise OddVariantsError
            numbers[chosen] = self.only(chosen).numbers(f"<i{layout.SIZES[kind] - 2}", skipped=2)
            most = layout.DECIMAL_DIGITS[kind]
            if np.any(scales[chosen] > most) or np.any(np.abs(numbers[chosen]) >= 10**most):
                raise OddVariantsError
        while (zeros := (scales > 0) & (numbers % 10 == 0)).any():
            numbers[zeros] //= 10
            scales[zeros] -= 1
        return numbers, scales

    def lengths(self) -> tuple[Integers, Integers]:
        """Return the sizes of plain values in bytes, and how many of these bytes are before the content.
        Raises OddVariantsError for objects, arrays and unknown types."""
        short = self.heads & 3 == SHORT_STRING
        sized = np.isin(self.heads, (layout.BINARY << 2, layout.LONG_STRING << 2))
        sizes = np.where(short, 1 + (self.heads >> 2), _SIZES[self.heads])
        if sized.any():
            sizes[sized] = 5 + self.only(sized).numbers("<u4").astype(np.int64)
        if np.any(sizes == 0) or np.any(self.places + sizes > self.ends):
            raise OddVariantsError
        return sizes, np.where(sized, 5, 1)

    def texts(self) -> pa.Array:
        """Return the contents of strings."""
        sizes, before = self.lengths()
        found = _pieces(self.data, self.places + before, sizes - before, STRING)
        try:
            found.validate(full=True)
        except pa.ArrowInvalid:  # not UTF-8
            raise OddVariantsError from None
        return found

    def plain_rows(self, length: int) -> pa.Array:
        """Return the plain values as variants of their own, in a column of ``length`` rows."""
        sizes, _ = self.lengths()
        head = len(_HEAD)
        starts = np.zeros(len(sizes) + 1, np.int64)
        np.cumsum(sizes + head, out=starts[1:])
        made = np.empty(int(starts[-1]), np.uint8)
        made[starts[:-1, None] + np.arange(head)] = _HEAD
        made[_spans(starts[:-1] + head, sizes)] = self.data[_spans(self.places, sizes)]
        return self.spread(_binary(made, starts, BINARY), length)

    def spread(self, values: pa.Array, length: int) -> pa.Array:
        """Return a column of ``length`` rows with the value of each part in its row; null elsewhere."""
        if len(values) == length:
            return values
        places, valid = np.zeros(length, np.int64), np.zeros(length, np.bool_)
        places[self.rows], valid[self.rows] = np.arange(len(values)), True
        return values.take(from_numpy(places, BIGINT, valid))


class Entries:
    """The entries of objects, or of arrays: their ``counts``, and where their numbers are stored."""

    def __init__(self, parts: VariantParts) -> None:
        self._parts = parts
        sizes = parts.heads.astype(np.int64) >> 2
        is_object = len(parts.heads) > 0 and int(parts.heads[0]) & 3 == OBJECT
        self._id_size = (sizes >> 2 & 3) + 1 if is_object else np.zeros_like(sizes)
        self._offset_size = (sizes & 3) + 1
        count_size = np.where(sizes >> (4 if is_object else 2) & 1, 4, 1)
        #: The number of entries of each object or array.
        self.counts = parts.unsigned(parts.places + 1, count_size)
        if is_object and np.any(self.counts > _MOST_FIELDS):
            raise OddVariantsError
        self._ids = parts.places + 1 + count_size
        self._offsets = self._ids + self.counts * self._id_size
        self._body = self._offsets + (self.counts + 1) * self._offset_size
        if np.any(self._body > parts.ends):
            raise OddVariantsError

    def ids(self, place: int) -> Integers:
        """Return the id of the name of each object's field at ``place``; undefined for objects with fewer
        fields."""
        at = np.minimum(self._ids + place * self._id_size, self._parts.ends)
        return self._parts.unsigned(at, self._id_size)

    def children(self, places: Integers) -> VariantParts:
        """Return the values at ``places`` among the entries of each object or array, but where it is -1."""
        found = np.flatnonzero(places >= 0)
        return self._values(found, places[found])

    def flat(self) -> VariantParts:
        """Return the values of all entries, one object or array after the other."""
        parents = np.repeat(np.arange(len(self.counts)), self.counts)
        firsts = np.cumsum(self.counts) - self.counts
        return self._values(parents, np.arange(len(parents)) - firsts[parents])

    def _values(self, parents: Integers, places: Integers) -> VariantParts:
        sizes = self._offset_size[parents]
        offsets = self._parts.unsigned(self._offsets[parents] + places * sizes, sizes)
        return self._parts.children(parents, self._body[parents] + offsets)


def parts_of(column: pa.Array) -> VariantParts:
    """Return the values of a column of variants (:mod:`sqlfront_values.arrow.variant_rows`), without its
    nulls. Raises OddVariantsError."""
    valid = valid_mask(column)
    known = column if valid is None else column.drop_null()
    rows = np.arange(len(column)) if valid is None else np.flatnonzero(valid)
    _, offsets, buffer = known.buffers()
    if len(rows) == 0 or buffer is None:
        raise OddVariantsError
    starts = np.frombuffer(offsets, np.int32, len(known) + 1, 4 * known.offset).astype(np.int64)
    data = np.concatenate([np.frombuffer(buffer, np.uint8)[starts[0] : starts[-1]], _PADDING])
    starts -= starts[0]
    starts, ends = starts[:-1], starts[1:]
    if np.any(starts + 4 > ends):
        raise OddVariantsError
    lengths = data[starts[:, None] + np.arange(4)].view("<u4")[:, 0].astype(np.int64)
    dictionaries, names = _dictionaries(known, lengths)
    return VariantParts(data, dictionaries, rows, names, starts + 4 + lengths, ends)


def _dictionaries(column: pa.Array, lengths: Integers) -> tuple[list[tuple[str, ...]], Integers]:
    """Return the different dictionaries of a column without nulls, whose metadata have the ``lengths``, and
    for each row the number of its dictionary."""
    found: list[tuple[str, ...]] = []
    numbers = np.zeros(len(column), np.int64)
    kinds = np.unique(lengths)
    if len(kinds) > _LENGTHS:
        raise OddVariantsError
    for length in kinds.tolist():
        rows = np.flatnonzero(lengths == length)
        some = column if len(rows) == len(column) else column.take(from_numpy(rows, BIGINT))
        encoded = pc.binary_slice(some, 4, 4 + length).dictionary_encode()
        if len(found) + len(encoded.dictionary) > _DICTIONARIES:
            raise OddVariantsError
        numbers[rows] = numpy_view(encoded.indices).astype(np.int64) + len(found)
        try:
            found += map(names_of, encoded.dictionary.to_pylist())
        except DatabaseError:
            raise OddVariantsError from None
    return found, numbers


def type_of(head: int) -> Type:
    """Return the type of a value by its first byte. Raises OddVariantsError for an unknown type."""
    found = TYPES[head]
    if found is None:
        raise OddVariantsError
    return found


def heads_of(kind: Type) -> list[int]:
    """Return the first bytes of values of a type."""
    return [head for head, other in enumerate(TYPES) if other is kind]


def _id_of(name: str, names: tuple[str, ...]) -> int:
    """Return the id of a name in a dictionary; -1 if the dictionary doesn't have the name."""
    if names.count(name) > 1:
        raise OddVariantsError
    return names.index(name) if name in names else -1


def _pieces(data: Bytes, places: Integers, sizes: Integers, kind: pa.DataType) -> pa.Array:
    starts = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=starts[1:])
    return _binary(data[_spans(places, sizes)], starts, kind)


def _spans(starts: Integers, sizes: Integers) -> Integers:
    """Return the places of the bytes of all spans, each of which begins at ``starts``, one after the
    other."""
    firsts = np.cumsum(sizes) - sizes
    return np.arange(int(sizes.sum())) + np.repeat(starts - firsts, sizes)


def _binary(data: Bytes, offsets: Integers, kind: pa.DataType) -> pa.Array:
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(kind, len(offsets) - 1, buffers)
