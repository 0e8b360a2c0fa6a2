"""count, sum and avg, exact for whole numbers and decimals."""

from collections.abc import Sequence
from decimal import localcontext
from enum import Enum
from typing import Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_numpy, numpy_view
from sqlfront_values.columns.batches import Integers
from sqlfront_values.columns.encoding import as_integers
from sqlfront_values.errors import DatabaseError
from sqlfront_values.evaluation_errors import arithmetic_overflow, interval_overflow, out_of_range
from sqlfront_values.functions.aggregates.accumulators.base import (
    Doubles,
    Groups,
    all_valid,
    doubles,
    integers,
    sum_doubles,
    sum_integers,
    without_nulls,
)
from sqlfront_values.functions.aggregates.accumulators.wide import (
    WideSums,
    decimal_array,
    divide_half_up,
    sum_wide,
    unscaled,
)
from sqlfront_values.types import BIGINT, DOUBLE, physical

#: Digits of a quotient in an error message: twice a decimal's 38.
_DIGITS: Final = 76


class _Counter(msgspec.Struct, frozen=True):
    """The base of accumulators that count rows: the state is a count, and counts merge by addition."""

    state_types = (BIGINT,)

    def merge(self, groups: Groups, states: Sequence[pa.Array]) -> list[pa.Array]:
        return [from_numpy(_sum_counts(groups, states[0]), BIGINT)]

    def finish(self, states: Sequence[pa.Array]) -> pa.Array:
        return states[0]


class Count(_Counter, frozen=True):
    """An accumulator that counts the rows without a null argument (all rows if there are no arguments)."""

    def update(self, groups: Groups, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        return [from_numpy(groups.select(all_valid(arguments)).counts(), BIGINT)]


class CountIf(_Counter, frozen=True):
    """An accumulator that counts the rows whose argument is true."""

    def update(self, groups: Groups, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        groups, (condition,) = without_nulls(groups, arguments)
        return [from_numpy(groups.select(numpy_view(condition).astype(np.bool_)).counts(), BIGINT)]


class SumDoubles(msgspec.Struct, frozen=True):
    """An accumulator for sum over floats or doubles, with a double as the result; null for a group without
    values."""

    state_types = (DOUBLE,)

    def update(self, groups: Groups, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        groups, (values,) = without_nulls(groups, arguments)
        return self.from_sums(sum_doubles(groups, numpy_view(values)), groups.counts())

    def from_sums(self, sums: Doubles, counts: Integers) -> list[pa.Array]:
        """Return the state columns of groups with the given sums and numbers of values."""
        return [from_numpy(sums, DOUBLE, counts > 0)]

    def merge(self, groups: Groups, states: Sequence[pa.Array]) -> list[pa.Array]:
        return self.update(groups, states)

    def finish(self, states: Sequence[pa.Array]) -> pa.Array:
        return states[0]


class Overflow(Enum):
    """The fate of a sum of whole numbers beyond 64 bits."""

    RAISES = "raises"
    """ARITHMETIC_OVERFLOW (sum)."""
    GIVES_NULL = "gives null"
    """The sum is null (try_sum)."""
    WRAPS = "wraps"
    """The sum has the low 64 bits (sum with ANSI mode off)."""


class SumIntegers(msgspec.Struct, frozen=True, kw_only=True):
    """An accumulator for sum over whole numbers, with a bigint as the result; null for a group without
    values. ``overflow``: the fate of a sum beyond 64 bits."""

    overflow: Overflow = Overflow.RAISES

    @property
    def tolerant(self) -> bool:
        """Whether the sum of a group is null if it overflows."""
        return self.overflow is Overflow.GIVES_NULL

    @property
    def state_types(self) -> tuple[pa.DataType, ...]:
        return (BIGINT, BIGINT) if self.tolerant else (BIGINT,)

    def update(self, groups: Groups, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        groups, (values,) = without_nulls(groups, arguments)
        return self.from_sums(exact_sums(groups, values), groups.counts())

    def from_sums(self, sums: Integers | WideSums, counts: Integers) -> list[pa.Array]:
        """Return the state columns of groups with the given exact sums and numbers of values. ``overflow``
        decides about a sum beyond 64 bits."""
        valid = counts > 0
        if isinstance(sums, WideSums):
            fits = sums.fit_bigint()
            if not fits.all() and self.overflow is Overflow.RAISES:
                raise arithmetic_overflow("try_add")
            sums, valid = sums.low, valid if self.overflow is Overflow.WRAPS else valid & fits
        result = from_numpy(sums, BIGINT, valid)
        return [result, from_numpy(counts, BIGINT)] if self.tolerant else [result]

    def merge(self, groups: Groups, states: Sequence[pa.Array]) -> list[pa.Array]:
        if not self.tolerant:
            return self.update(groups, states)
        sums, _ = self.update(groups, states[:1])
        counts = _sum_counts(groups, states[1])
        return [_null_where(sums, _overflowed(groups, states)), from_numpy(counts, BIGINT)]

    def finish(self, states: Sequence[pa.Array]) -> pa.Array:
        return states[0]


class SumIntervals(msgspec.Struct, frozen=True):
    """An accumulator for sum, or if ``average`` for avg, over intervals; null for a group without values. The
    result has the interval type ``type`` (logical); an average's halves are rounded away from zero. A sum
    that doesn't fit raises INTERVAL_ARITHMETIC_OVERFLOW, or is null if ``tolerant`` (try_sum, try_avg)."""

    type: pa.DataType
    average: bool = False
    tolerant: bool = False

    state_types = (BIGINT, BIGINT)

    def update(self, groups: Groups, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        groups, (values,) = without_nulls(groups, arguments)
        return self.from_sums(exact_sums(groups, amounts(values)), groups.counts())

    def from_sums(self, sums: Integers | WideSums, counts: Integers) -> list[pa.Array]:
        """Return the state columns of groups with the given exact sums (months or microseconds) and numbers
        of values; a sum that doesn't fit a bigint is null."""
        return SumIntegers(overflow=Overflow.GIVES_NULL).from_sums(sums, counts)

    def merge(self, groups: Groups, states: Sequence[pa.Array]) -> list[pa.Array]:
        return SumIntegers(overflow=Overflow.GIVES_NULL).merge(groups, states)

    def finish(self, states: Sequence[pa.Array]) -> pa.Array:
        sums, counts = integers(states[0]), integers(states[1])
        form, known = physical(self.type), all_valid([states[0]])
        bound = 2 ** (form.bit_width - 1)
        fits = (sums >= -bound) & (sums <= bound - 1)
        if known is not None:
            fits &= known
        if not self.tolerant and (~fits & (counts > 0)).any():
            raise interval_overflow("try_add")
        results = _divided(sums, np.maximum(counts, 1)) if self.average else sums
        return from_numpy(results, form, fits & (counts > 0))


def amounts(intervals: pa.Array) -> pa.Array:
    """Return an interval column, in physical form, as whole numbers of months or microseconds; any other
    column unchanged."""
    return intervals.view(BIGINT) if pa.types.is_duration(intervals.type) else intervals


def _divided(sums: Integers, counts: Integers) -> Integers:
    """Return each sum divided by its positive count, halves rounded away from zero."""
    sizes, divisors = np.abs(sums).view(np.uint64), counts.astype(np.uint64)
    quotients, rests = np.divmod(sizes, divisors)
    quotients += rests >= divisors - rests
    return np.sign(sums) * quotients.view(np.int64)


class SumDecimals(SumIntegers, frozen=True):
    """An accumulator for sum over decimals, added as unscaled whole numbers; null for a group without values.
    The result has the decimal type ``type`` (logical). A sum beyond the type's precision raises
    ARITHMETIC_OVERFLOW, or is null if ``tolerant`` (try_sum)."""

    type: pa.DataType

    @property
    def state_types(self) -> tuple[pa.DataType, ...]:
        return (physical(self.type), BIGINT) if self.tolerant else (physical(self.type),)

    def from_sums(self, sums: Integers | WideSums, counts: Integers) -> list[pa.Array]:
        """Return the state columns of groups with the given exact unscaled sums and numbers of values. A sum
        beyond the precision of ``type`` raises ARITHMETIC_OVERFLOW, or is null if ``tolerant``."""
        valid = counts > 0
        if isinstance(sums, WideSums):
            fits = sums.fit(self.type.precision)
            if not fits.all() and not self.tolerant:
                raise _decimal_overflow("try_sum")
            valid &= fits
        result = decimal_array(sums, physical(self.type), valid)
        return [result, from_numpy(counts, BIGINT)] if self.tolerant else [result]


class AverageDoubles(msgspec.Struct, frozen=True):
    """An accumulator for avg over numbers other than decimals, summed as doubles as in Spark; null for a
    group without values."""

    state_types = (DOUBLE, BIGINT)

    def update(self, groups: Groups, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        groups, (values,) = without_nulls(groups, arguments)
        return self.from_sums(sum_doubles(groups, numpy_view(values)), groups.counts())

    def from_sums(self, sums: Doubles, counts: Integers) -> list[pa.Array]:
        """Return the state columns of groups with the given sums and numbers of values."""
        return [from_numpy(sums, DOUBLE), from_numpy(counts, BIGINT)]

    def merge(self, groups: Groups, states: Sequence[pa.Array]) -> list[pa.Array]:
        return [
            from_numpy(sum_doubles(groups, numpy_view(states[0])), DOUBLE),
            from_numpy(_sum_counts(groups, states[1]), BIGINT),
        ]

    def finish(self, states: Sequence[pa.Array]) -> pa.Array:
        sums, counts = doubles(states[0]), integers(states[1])
        return from_numpy(sums / np.maximum(counts, 1), DOUBLE, counts > 0)


class AverageDecimals(msgspec.Struct, frozen=True):
    """An accumulator for avg over decimals: the exact sum, of the decimal type ``sum_type``, divided by the
    count and rounded half up to ``type``; null for a group without values. A sum beyond the precision of
    ``sum_type`` raises ARITHMETIC_OVERFLOW, a mean beyond the precision of ``type``
    NUMERIC_VALUE_OUT_OF_RANGE; if ``tolerant``, the result is null instead."""

    type: pa.DataType
    sum_type: pa.DataType
    tolerant: bool = False

    @property
    def state_types(self) -> tuple[pa.DataType, ...]:
        return (physical(self.sum_type), BIGINT)

    def update(self, groups: Groups, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        groups, (values,) = without_nulls(groups, arguments)
        return self.from_sums(exact_sums(groups, values), groups.counts())

    def from_sums(self, sums: Integers | WideSums, counts: Integers) -> list[pa.Array]:
        """Return the state columns of groups with the given exact unscaled sums and numbers of values. A sum
        beyond the precision of ``sum_type`` raises ARITHMETIC_OVERFLOW, or is null if ``tolerant``."""
        return [self._state(sums), from_numpy(counts, BIGINT)]

    def merge(self, groups: Groups, states: Sequence[pa.Array]) -> list[pa.Array]:
        valid = all_valid(states[:1])
        kept, (sums,) = without_nulls(groups, states[:1])
        result = self._state(exact_sums(kept, sums))
        if valid is not None:
            result = _null_where(result, _overflowed(groups, states))
        return [result, from_numpy(_sum_counts(groups, states[1]), BIGINT)]

    def finish(self, states: Sequence[pa.Array]) -> pa.Array:
        sums, counts = states[0], integers(states[1])
        valid = counts > 0
        known = all_valid([sums])
        if known is not None:
            valid = valid & known
        result, fits = divide_half_up(unscaled(sums), np.maximum(counts, 1), self.sum_type.scale, self.type)
        wrong = np.flatnonzero(valid & ~fits)
        if len(wrong) and not self.tolerant:
            total, count = sums[int(wrong[0])].as_py(), int(counts[wrong[0]])
            with localcontext(prec=_DIGITS):
                quotient = f"{total / count:f}"
            raise out_of_range(quotient, self.type.precision, self.type.scale)
        return decimal_array(result, physical(self.type), valid & fits)

    def _state(self, sums: Integers | WideSums) -> pa.Array:
        fits = None
        if isinstance(sums, WideSums):
            fits = sums.fit(self.sum_type.precision)
            if not fits.all() and not self.tolerant:
                raise _decimal_overflow("try_avg")
        return decimal_array(sums, physical(self.sum_type), fits)


def exact_sums(groups: Groups, values: pa.Array) -> Integers | WideSums:
    """Return the exact sum of each group of ``values``, a column without nulls of whole numbers, or of
    decimals, whose sums are unscaled: as int64 if the magnitudes prove that all sums fit, else as
    :class:`WideSums`."""
    narrow = as_integers(values)
    if narrow is not None:
        sums = sum_integers(groups, narrow)
        if sums is not None:
            return sums
    return sum_wide(groups, unscaled(values))


def _sum_counts(groups: Groups, counts: pa.Array) -> Integers:
    sums = sum_integers(groups, integers(counts))
    assert sums is not None
    return sums


def _overflowed(groups: Groups, states: Sequence[pa.Array]) -> npt.NDArray[np.bool_]:
    """Return a mask of the groups whose sum has overflowed, i.e. that have a state with a positive count and
    a null sum. ``states`` are the columns of sums and counts."""
    lost = integers(states[1]) > 0
    known = all_valid(states[:1])
    lost &= False if known is None else ~known
    return groups.select(lost).counts() > 0


def _null_where(column: pa.Array, mask: npt.NDArray[np.bool_]) -> pa.Array:
    known = all_valid([column])
    valid = ~mask if known is None else known & ~mask
    if pa.types.is_decimal(column.type):
        return decimal_array(unscaled(column), column.type, valid)
    return from_numpy(numpy_view(column), column.type, valid)


def _decimal_overflow(alternative: str) -> DatabaseError:
    return arithmetic_overflow(alternative, "Overflow in sum of decimals")
