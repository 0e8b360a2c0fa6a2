"""Keys that are looked up later: the build side of a join numbers its keys, the probe side looks the numbers
up."""

from collections.abc import Callable, Hashable, Sequence
from typing import Final, Protocol

import msgspec
import numpy as np
import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import numpy_view, valid_mask
from sqlfront_values.columns.batches import Integers, Mask, Rows, mask_array
from sqlfront_values.columns.encoding import (
    MAX_BOUND,
    Codes,
    as_integers,
    decimal_words,
    dictionary_indices,
    hashable_value,
    to_hashable,
    value_range,
)
from sqlfront_values.columns.hashing import IntegerTable
from sqlfront_values.columns.text import TextTable, is_hashable_text

#: A code may serve as the number if there are at most this many codes per row, or at most SMALL_BOUND codes:
#: the table takes eight bytes a code, so that SMALL_BOUND codes are half a megabyte.
CODES_PER_ROW: Final = 16
SMALL_BOUND: Final = 65_536
#: Hashed codes get a table of numbers by code after all, once the look-ups reach this share of the codes'
#: bound ...
PROBES_PER_CODE: Final = 1 / 16
#: ... and if the table has at most this many codes, of eight bytes each (64 MiB).
MAX_TABLE: Final = 2**23
#: In keys of several columns each column's codes stay below this bound, so that two columns always combine.
MAX_COLUMN_BOUND: Final = 2**31
#: Strings above which a table of them is kept from call to call: making a table of fewer strings takes less
#: time than keeping one.
MAX_VALUES: Final = 1024


class KeyDirectory:
    """A directory that numbers the different keys of ``length`` rows; ``columns`` are the parts of the key.

    ``null_safe`` tells for each column whether null is a value, equal to null; empty = for no column.
    ``rows`` are the rows that a look-up can find (None = all): the rows without a null in a column that is
    not null-safe. ``numbers`` holds a number for each of these rows, ``0 <= number < size``; equal keys have
    equal numbers. Some numbers may have no row.

    ``may_hold`` is called with the bytes of a table that makes later look-ups faster, before the table is
    built; it returns whether the directory may hold these bytes from then on, besides :attr:`nbytes`.
    """

    def __init__(
        self,
        columns: Sequence[pa.Array],
        length: int,
        null_safe: Sequence[bool] = (),
        may_hold: Callable[[int], bool] = lambda _: True,
    ) -> None:
        self._null_safe = tuple(null_safe) or (False,) * len(columns)
        complete = _complete_rows(columns, self._null_safe)
        self.rows: Rows | None = None
        if complete is not None:
            self.rows = np.flatnonzero(complete)
            columns = [column.filter(mask_array(complete)) for column in columns]
            length = len(self.rows)
        self._steps: list[_Step] = []
        codes = Codes(np.zeros(length, np.int64), 1)
        for column, safe in zip(columns, self._null_safe, strict=True):
            codes = self._add_column(column, codes, safe, several=len(columns) > 1)
        self._codes, self._looked_up = codes, 0
        self._hashed: IntegerTable | None = None
        self._table: Integers | None = None
        self._may_hold: Callable[[int], bool] | None = may_hold
        if codes.bound > max(CODES_PER_ROW * length, SMALL_BOUND):
            self._hashed, codes = _renumber(codes)
        self.numbers, self.size = codes.values, codes.bound

    def find(self, columns: Sequence[pa.Array], length: int) -> Integers:
        """Return a number for each of ``length`` rows: the number of the row's key, or a number that no row
        of the directory has. The columns have the same types as the directory's columns."""
        codes: Integers | None = None
        for column, step in zip(columns, self._steps, strict=True):
            codes = step.extend(codes, column)
        if codes is None:
            return np.zeros(length, np.int64)
        if self._hashed is None:
            return codes
        if self._table is None:
            return self._find_hashed(codes, self._hashed)
        return self._table.take(codes, mode="clip")

    def _find_hashed(self, codes: Integers, hashed: IntegerTable) -> Integers:
        """Return the numbers of ``codes`` by looking them up in ``hashed``. Once enough codes were looked up
        to make it worth the cost, also build an array of numbers by code, which later calls of :meth:`find`
        use, unless there is no memory for the array."""
        self._looked_up += len(codes)
        may_hold, bound = self._may_hold, self._codes.bound
        if may_hold is not None and bound <= min(MAX_TABLE, self._looked_up / PROBES_PER_CODE):
            self._may_hold = None
            if may_hold(8 * bound):
                self._table = np.full(bound, hashed.missing)
                self._table[self._codes.values] = self.numbers
        return hashed.find(codes)

    @property
    def wanted_rows(self) -> int:
        """Return the least number of rows per call of :meth:`find` for which the call's fixed cost does not
        matter."""
        return max((step.coder.fixed_cost for step in self._steps), default=0)

    @property
    def nbytes(self) -> int:
        """Return the number of bytes of memory that the directory holds, without the bytes that ``may_hold``
        has allowed."""
        return self.numbers.nbytes + (0 if self._hashed is None else self._hashed.nbytes)

    def _add_column(self, column: pa.Array, codes: Codes, null_safe: bool, *, several: bool) -> Codes:
        coder = _make_coder(column, MAX_COLUMN_BOUND if several else MAX_BOUND)
        step = _Step(coder, null_safe)
        if codes.bound * step.bound > MAX_BOUND:
            folded, codes = _renumber(codes)
            self._steps.append(_Step(coder, null_safe, folded))
        else:
            self._steps.append(step)
        return Codes(step.extend(codes.values, column), codes.bound * step.bound)


class _Coder(Protocol):
    """A mapping from the values of one key column to codes, ``0 <= code < bound``. A value that no row of the
    directory has gets the code ``bound - 1``; the code of null is undefined. ``fixed_cost``: the least number
    of values per call for which the call's fixed cost does not matter."""

    bound: int
    #: The least number of values per call for the fixed cost of the call not to matter.
    fixed_cost: int

    def code(self, column: pa.Array) -> Integers: ...


class _Step(msgspec.Struct, frozen=True):
    """The step of :meth:`KeyDirectory.find` for one column of a key. ``folded`` renumbers the combined codes
    of the columns before this one, so that the result fits an int64; None if the result fits anyway."""

    coder: _Coder
    null_safe: bool
    folded: IntegerTable | None = None

    @property
    def bound(self) -> int:
        return self.coder.bound + self.null_safe

    def extend(self, codes: Integers | None, column: pa.Array) -> Integers:
        """Return one code per row for the key's columns up to this one. ``codes`` are the rows' codes for the
        columns before (None = this is the first column), ``column`` has this column's values."""
        own = self.coder.code(column)
        valid = valid_mask(column)
        if valid is not None:
            own = np.where(valid, own, self.bound - 1)
        if codes is None:
            return own
        if self.folded is not None:
            codes = self.folded.find(codes)
        return codes * self.bound + own


class _RangeCoder:
    """A coder for whole numbers of a limited range: the code is the distance from the least number."""

    fixed_cost = 0

    def __init__(self, low: int, count: int) -> None:
        self._low = low
        self.bound = count + 1

    def code(self, column: pa.Array) -> Integers:
        values = as_integers(column)
        if values is None:  # decimals, some of them beyond 64 bits
            outside = self._low - 1 if self._low > -(2**63) else self._low + self.bound
            values = _narrow_or(column, outside)
        # As an unsigned integer, a value below the range is far above the range.
        distance = (values - np.int64(self._low)).view(np.uint64)
        return np.minimum(distance, np.uint64(self.bound - 1), out=distance).view(np.int64)


class _TableCoder:
    """A coder for whole numbers that lie far apart, by a hash table of the numbers in the directory."""

    fixed_cost = 0

    def __init__(self, values: Integers) -> None:
        self._table = IntegerTable(values)
        self.bound = self._table.missing + 1

    def code(self, column: pa.Array) -> Integers:
        values = as_integers(column)
        assert values is not None
        return self._table.find(values)


class _StringCoder:
    """The base of the coders for strings and binaries; ``known`` is the number of different values in the
    directory. The codes of a dictionary's values are looked up once, and reused for further arrays with the
    same dictionary."""

    def __init__(self, known: int) -> None:
        self.bound = known + 1
        self.fixed_cost = 0
        self._dictionary: pa.Array | None = None
        self._dictionary_codes: Integers = np.zeros(0, np.int64)

    def code(self, column: pa.Array) -> Integers:
        if not pa.types.is_dictionary(column.type):
            return self._look_up(column)
        dictionary = column.dictionary
        if self._dictionary is None or not _same_buffers(self._dictionary, dictionary):
            self._dictionary, self._dictionary_codes = dictionary, self._look_up(dictionary)
        if len(dictionary) == 0:
            return np.zeros(len(column), np.int64)
        return self._dictionary_codes[dictionary_indices(column)]

    def _look_up(self, column: pa.Array) -> Integers:
        raise NotImplementedError


class _ValueCoder(_StringCoder):
    """A coder for few different strings or binaries, by Arrow's lookup, which hashes the directory's values
    anew at each call."""

    def __init__(self, values: pa.Array) -> None:
        super().__init__(len(values))
        self.fixed_cost = len(values)
        self._values = values

    def _look_up(self, column: pa.Array) -> Integers:
        found = pc.index_in(to_hashable(column), value_set=self._values)
        codes = numpy_view(found).astype(np.int64)
        known = valid_mask(found)
        return codes if known is None else np.where(known, codes, self.bound - 1)


class _TextCoder(_StringCoder):
    """A coder for many different strings, by their hashes."""

    def __init__(self, table: TextTable) -> None:
        super().__init__(table.missing)
        self._table = table

    def _look_up(self, column: pa.Array) -> Integers:
        return self._table.find(column)


class _ObjectCoder:
    """A coder for nested values, by a Python dict of the directory's values."""

    fixed_cost = 0

    def __init__(self, column: pa.Array) -> None:
        self._codes: dict[Hashable, int] = {}
        for value in column.to_pylist():
            self._codes.setdefault(hashable_value(value), len(self._codes))
        self.bound = len(self._codes) + 1

    def code(self, column: pa.Array) -> Integers:
        missing = self.bound - 1
        codes = [self._codes.get(hashable_value(value), missing) for value in column.to_pylist()]
        return np.array(codes, np.int64)


def _make_coder(column: pa.Array, max_bound: int) -> _Coder:
    data_type = column.type
    if pa.types.is_null(data_type):
        return _ObjectCoder(column)
    if pa.types.is_dictionary(data_type):
        return _make_string_coder(column.dictionary)
    values = as_integers(column)
    if values is not None:
        low, high = value_range(values, valid_mask(column))
        if high - low + 2 <= max_bound:
            return _RangeCoder(low, high - low + 1)
        if not pa.types.is_decimal128(data_type):
            return _TableCoder(values)
    hashable = to_hashable(column)
    return _ObjectCoder(column) if hashable is None else _make_string_coder(hashable)


def _make_string_coder(column: pa.Array) -> _Coder:
    if len(column) > MAX_VALUES and is_hashable_text(column):
        table = TextTable(column)
        if table.exact:
            return _TextCoder(table)
    return _ValueCoder(column.unique())


def _complete_rows(columns: Sequence[pa.Array], null_safe: Sequence[bool]) -> Mask | None:
    """Return a mask, False for rows with a null in a column that is not null-safe; None if no row has such a
    null."""
    result: Mask | None = None
    for column, safe in zip(columns, null_safe, strict=True):
        valid = None if safe else valid_mask(column)
        if valid is not None:
            result = valid if result is None else result & valid
    return result


def _renumber(codes: Codes) -> tuple[IntegerTable, Codes]:
    """Replace arbitrary codes by dense numbers. Return the hash table that maps codes to their numbers, and
    the numbers of the given codes; the bound leaves one more number, which the table gives to codes that it
    does not have."""
    table = IntegerTable(codes.values)
    return table, Codes(table.numbers, table.missing + 1)


def _narrow_or(column: pa.Array, otherwise: int) -> Integers:
    """Return the unscaled values of a decimal128 column as int64; a value that does not fit 64 bits becomes
    ``otherwise``."""
    words = decimal_words(column)
    fits = words[:, 1] == words[:, 0] >> 63
    return np.where(fits, words[:, 0], otherwise)


def _same_buffers(left: pa.Array, right: pa.Array) -> bool:
    """Return whether two arrays are the same part of the same memory (False does not mean different
    values)."""
    if len(left) != len(right) or left.offset != right.offset:
        return False
    return [_address(buffer) for buffer in left.buffers()] == [_address(buffer) for buffer in right.buffers()]


def _address(buffer: pa.Buffer | None) -> int | None:
    return None if buffer is None else int(buffer.address)
