"""Variance, skewness, kurtosis, covariance and correlation, by central moments that merge without
cancellation.

Two sets of rows with the means a and b are joined by moving each to the common mean: with ``d = mean - common
mean`` a set of ``n`` rows contributes ``m2 + n d^2``, ``m3 + 3 d m2 + n d^3`` and ``m4 + 4 d m3 + 6 d^2 m2 +
n d^4`` (Chan, Golub and LeVeque, 1979; Pebay, 2008).
"""

from collections.abc import Callable, Sequence

import msgspec
import numpy as np
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_numpy
from sqlfront_values.columns.batches import Mask
from sqlfront_values.functions.aggregates.accumulators.base import (
    Accumulator,
    Doubles,
    Groups,
    doubles,
    sum_doubles,
    without_nulls,
)
from sqlfront_values.types import DOUBLE

#: From (n, m2, m3, m4) to the result and the mask of results that are not null.
Formula = Callable[[Doubles, Doubles, Doubles, Doubles], tuple[Doubles, Mask]]
#: From (n, covariance sum, m2 of the first, m2 of the second) to the result and the mask.
PairFormula = Formula


class Moments(msgspec.Struct, frozen=True):
    """A statistic of one double column, computed by ``formula`` from the number of values and the sums of
    powers of their distances from the mean, the second power up to ``order`` (2 to 4)."""

    order: int
    formula: Formula

    @property
    def state_types(self) -> tuple[pa.DataType, ...]:
        return (DOUBLE,) * (self.order + 1)

    def update(self, groups: Groups, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        groups, (column,) = without_nulls(groups, arguments)
        values = doubles(column)
        counts = groups.counts().astype(np.float64)
        with np.errstate(all="ignore"):
            means = sum_doubles(groups, values) / np.maximum(counts, 1)
            distance = values - means[groups.ids]
            powers = [sum_doubles(groups, product) for product in _products(distance, self.order)]
        return [from_numpy(values, DOUBLE) for values in (counts, means, *powers)]

    def merge(self, groups: Groups, states: Sequence[pa.Array]) -> list[pa.Array]:
        n, mean, *powers = (doubles(state) for state in states)
        counts, means, distance = _common_mean(groups, n, mean)
        with np.errstate(all="ignore"):
            merged = [
                sum_doubles(groups, _moved(power, n, distance, powers)) for power in range(2, self.order + 1)
            ]
        return [from_numpy(values, DOUBLE) for values in (counts, means, *merged)]

    def finish(self, states: Sequence[pa.Array]) -> pa.Array:
        n, _, *powers = (doubles(state) for state in states)
        powers += [np.zeros(0)] * (3 - len(powers))
        with np.errstate(all="ignore"):
            result, valid = self.formula(n, *powers)
        return from_numpy(result, DOUBLE, valid)


class PairMoments(msgspec.Struct, frozen=True):
    """A statistic of two double columns, computed by ``formula`` from the number of rows and the sums of
    products of the values' distances from their means. Rows with a null in either column don't count."""

    formula: PairFormula
    state_types = (DOUBLE,) * 6

    def update(self, groups: Groups, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        groups, columns = without_nulls(groups, arguments)
        counts = groups.counts().astype(np.float64)
        with np.errstate(all="ignore"):
            first, second = (doubles(column) for column in columns)
            means = [sum_doubles(groups, values) / np.maximum(counts, 1) for values in (first, second)]
            x, y = first - means[0][groups.ids], second - means[1][groups.ids]
            sums = [sum_doubles(groups, product) for product in (x * y, x * x, y * y)]
        return [from_numpy(values, DOUBLE) for values in (counts, *means, *sums)]

    def merge(self, groups: Groups, states: Sequence[pa.Array]) -> list[pa.Array]:
        n, mean_x, mean_y, xy, xx, yy = (doubles(state) for state in states)
        counts, means_x, x = _common_mean(groups, n, mean_x)
        _, means_y, y = _common_mean(groups, n, mean_y)
        with np.errstate(all="ignore"):
            parts = (xy + n * x * y, xx + n * x * x, yy + n * y * y)
            sums = [sum_doubles(groups, part) for part in parts]
        return [from_numpy(values, DOUBLE) for values in (counts, means_x, means_y, *sums)]

    def finish(self, states: Sequence[pa.Array]) -> pa.Array:
        n, _, _, *sums = (doubles(state) for state in states)
        with np.errstate(all="ignore"):
            result, valid = self.formula(n, *sums)
        return from_numpy(result, DOUBLE, valid)


class RegressionIntercept(PairMoments, frozen=True):
    """The intercept of the line through the points (second, first column); ``formula`` computes its slope."""

    def finish(self, states: Sequence[pa.Array]) -> pa.Array:
        n, mean_y, mean_x, *sums = (doubles(state) for state in states)
        with np.errstate(all="ignore"):
            slope, valid = self.formula(n, *sums)
            return from_numpy(mean_y - slope * mean_x, DOUBLE, valid)


class OfWholeRows(msgspec.Struct, frozen=True):
    """An aggregate of the column number ``place``, by ``inner``, over the rows without a null in any
    column."""

    inner: Accumulator
    place: int

    @property
    def state_types(self) -> tuple[pa.DataType, ...]:
        return self.inner.state_types

    def update(self, groups: Groups, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        groups, columns = without_nulls(groups, arguments)
        return self.inner.update(groups, [columns[self.place]])

    def merge(self, groups: Groups, states: Sequence[pa.Array]) -> list[pa.Array]:
        return self.inner.merge(groups, states)

    def finish(self, states: Sequence[pa.Array]) -> pa.Array:
        return self.inner.finish(states)


def _common_mean(groups: Groups, n: Doubles, mean: Doubles) -> tuple[Doubles, Doubles, Doubles]:
    """Return each group's count and mean, and for each state the distance of its mean from its group's mean
    (0 for an empty state). ``n`` and ``mean`` are the counts and means of the states."""
    with np.errstate(all="ignore"):
        counts = sum_doubles(groups, n)
        means = sum_doubles(groups, n * mean) / np.maximum(counts, 1)
        return counts, means, np.where(n > 0, mean - means[groups.ids], 0.0)


def _products(distance: Doubles, order: int) -> list[Doubles]:
    """Return the second to the ``order``-th powers of the distances, computed by multiplication: numpy's
    powers of negative values take ten times as long, and differ from machine to machine."""
    products = [distance * distance]
    while len(products) < order - 1:
        products.append(products[-1] * distance)
    return products


def _moved(power: int, n: Doubles, distance: Doubles, powers: Sequence[Doubles]) -> Doubles:
    """Return for each state the sum of the ``power``-th powers of its values' distances from the group's
    mean. ``powers`` are the sums of powers of the distances from the state's mean, from the second power on;
    ``distance`` is the distance between these means, ``n`` the state's number of values."""
    products = _products(distance, power)
    if power == 2:
        return powers[0] + n * products[0]
    if power == 3:
        return powers[1] + 3 * distance * powers[0] + n * products[1]
    return powers[2] + 4 * distance * powers[1] + 6 * products[0] * powers[0] + n * products[2]


def variance_population(n: Doubles, m2: Doubles, *_: Doubles) -> tuple[Doubles, Mask]:
    """Return the population's variance ``m2 / n`` of each group, and the mask of the groups whose variance is
    not null: the groups with rows. ``m2`` is the sum of squared distances from the mean."""
    return m2 / n, n > 0


def variance_sample(n: Doubles, m2: Doubles, *_: Doubles) -> tuple[Doubles, Mask]:
    """Return the sample's variance ``m2 / (n - 1)`` of each group, and the mask of the groups whose variance
    is not null: the groups of two or more rows. ``m2`` is the sum of squared distances from the mean."""
    return m2 / (n - 1), n > 1


def deviation_population(n: Doubles, m2: Doubles, *_: Doubles) -> tuple[Doubles, Mask]:
    """Return the population's standard deviation ``sqrt(m2 / n)`` of each group, and the mask of the groups
    whose deviation is not null: the groups with rows. ``m2`` is the sum of squared distances from the
    mean."""
    return np.sqrt(m2 / n), n > 0


def deviation_sample(n: Doubles, m2: Doubles, *_: Doubles) -> tuple[Doubles, Mask]:
    """Return the sample's standard deviation ``sqrt(m2 / (n - 1))`` of each group, and the mask of the groups
    whose deviation is not null: the groups of two or more rows. ``m2`` is the sum of squared distances from
    the mean."""
    return np.sqrt(m2 / (n - 1)), n > 1


def skewness(n: Doubles, m2: Doubles, m3: Doubles, *_: Doubles) -> tuple[Doubles, Mask]:
    """Return the skewness ``sqrt(n) m3 / m2^1.5`` of each group, and the mask of the groups whose skewness is
    not null: the groups with rows whose values are not all equal. ``m2`` and ``m3`` are the sums of the
    second and third powers of the distances from the mean."""
    return np.sqrt(n) * m3 / np.sqrt(m2 * m2 * m2), (n > 0) & (m2 != 0)


def kurtosis(n: Doubles, m2: Doubles, _: Doubles, m4: Doubles) -> tuple[Doubles, Mask]:
    """Return the excess kurtosis ``n m4 / m2^2 - 3`` of each group, and the mask of the groups whose kurtosis
    is not null: the groups with rows whose values are not all equal. ``m2`` and ``m4`` are the sums of the
    second and fourth powers of the distances from the mean."""
    return n * m4 / (m2 * m2) - 3.0, (n > 0) & (m2 != 0)


def covariance_population(n: Doubles, xy: Doubles, *_: Doubles) -> tuple[Doubles, Mask]:
    """Return the population's covariance ``xy / n`` of each group, and the mask of the groups whose
    covariance is not null: the groups with rows. ``xy`` is the sum of products of the distances from the two
    means."""
    return xy / n, n > 0


def covariance_sample(n: Doubles, xy: Doubles, *_: Doubles) -> tuple[Doubles, Mask]:
    """Return the sample's covariance ``xy / (n - 1)`` of each group, and the mask of the groups whose
    covariance is not null: the groups of two or more rows. ``xy`` is the sum of products of the distances
    from the two means."""
    return xy / (n - 1), n > 1


def correlation(n: Doubles, xy: Doubles, xx: Doubles, yy: Doubles) -> tuple[Doubles, Mask]:
    """Return Pearson's coefficient ``xy / sqrt(xx yy)`` of each group, and the mask of the groups whose
    coefficient is not null: the groups with rows in which the values of neither column are all equal. ``xy``,
    ``xx`` and ``yy`` are the sums of products of the distances from the means."""
    return xy / np.sqrt(xx * yy), (n > 0) & (xx != 0) & (yy != 0)


def regression_slope(n: Doubles, xy: Doubles, yy: Doubles, xx: Doubles) -> tuple[Doubles, Mask]:
    """Return the slope ``xy / xx`` of the regression line of each group, and the mask of the groups whose
    slope is not null: the groups with rows whose second values are not all equal. ``yy`` and ``xx`` are the
    sums of squared distances of the first and second column from their means, ``xy`` the sum of products."""
    return xy / xx, (n > 0) & (xx != 0)


def regression_r2(n: Doubles, xy: Doubles, yy: Doubles, xx: Doubles) -> tuple[Doubles, Mask]:
    """Return the coefficient of determination ``xy^2 / (xx yy)`` of each group, 1 if all first values are
    equal, and the mask of the groups whose coefficient is not null, as in :func:`regression_slope`."""
    r = xy / np.sqrt(xx * yy)
    return np.where(yy == 0, 1.0, r * r), (n > 0) & (xx != 0)


def regression_sxx(n: Doubles, xy: Doubles, yy: Doubles, xx: Doubles) -> tuple[Doubles, Mask]:
    """Return ``xx`` of each group, see :func:`regression_slope`, and the mask of the groups with rows."""
    return xx, n > 0


def regression_sxy(n: Doubles, xy: Doubles, *_: Doubles) -> tuple[Doubles, Mask]:
    """Return ``xy`` of each group, see :func:`regression_slope`, and the mask of the groups with rows."""
    return xy, n > 0


def regression_syy(n: Doubles, xy: Doubles, yy: Doubles, *_: Doubles) -> tuple[Doubles, Mask]:
    """Return ``yy`` of each group, see :func:`regression_slope`, and the mask of the groups with rows."""
    return yy, n > 0
