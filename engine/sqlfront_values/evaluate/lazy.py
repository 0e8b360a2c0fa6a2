"""Forms that evaluate an operand only for the rows that need it: CASE, AND, OR, coalesce, and functions
whose result is null after the first null.

If no later operand can fail, evaluating everything for all rows is quicker than gathering and scattering, and
gives the same values; the compiler chooses (:mod:`sqlfront_values.evaluate.compiler`).
"""

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import true_rows
from sqlfront_values.arrow.forms import FALSE, INT64, TRUE, Datum, full_array, is_scalar, nulls, plain, select
from sqlfront_values.evaluate.rows import Evaluator, Rows

if TYPE_CHECKING:
    from sqlfront_values.functions import registry

_COALESCE: Final = pc.get_function("coalesce")
_INVERT: Final = pc.get_function("invert")
_TAKE: Final = pc.get_function("array_take")
_INVERSE: Final = pc.get_function("inverse_permutation")
_IS_VALID: Final = pc.get_function("is_valid")
_DROP_NULL: Final = pc.get_function("drop_null")
_AND: Final = pc.get_function("and_kleene")
_OR: Final = pc.get_function("or_kleene")


def eager_case(
    branches: tuple[tuple[Evaluator, Evaluator], ...], otherwise: Evaluator, data_type: pa.DataType
) -> Evaluator:
    """Compile CASE to an evaluator that evaluates all operands for all rows, except values of branches that
    no row takes. ``branches`` are pairs of condition and value; ``data_type`` is the logical type of the
    result."""

    def run(rows: Rows) -> Datum:
        result = otherwise(rows)
        for condition, value in reversed(branches):
            mask = condition(rows)
            if is_scalar(mask):
                result = value(rows) if mask.as_py() else result
                continue
            count = mask.true_count
            if count == rows.length:
                result = value(rows)
            elif count:
                result = select(mask, plain(value(rows)), plain(result), data_type)
        return result

    return run


def lazy_case(
    branches: tuple[tuple[Evaluator, Evaluator], ...], otherwise: Evaluator, data_type: pa.DataType
) -> Evaluator:
    """Compile CASE to an evaluator that evaluates each condition only for rows that no earlier branch took,
    and each value only for the rows of its branch. ``branches`` are pairs of condition and value;
    ``data_type`` is the logical type of the result."""

    def run(rows: Rows) -> Datum:
        if rows.length == 0:
            return pa.nulls(0, nulls(data_type).type)
        pieces = _Pieces(rows)
        for condition, value in branches:
            if pieces.give(condition(pieces.rest), value):
                return pieces.assembled()
        pieces.give(TRUE, otherwise)
        return pieces.assembled()

    return run


def lazy_coalesce(operands: tuple[Evaluator, ...], data_type: pa.DataType) -> Evaluator:
    """Compile coalesce, the first value that is not null, to an evaluator that evaluates an operand only for
    the rows in which all operands before are null. ``data_type`` is the logical type of the result."""

    def run(rows: Rows) -> Datum:
        if rows.length == 0:
            return pa.nulls(0, nulls(data_type).type)
        pieces = _Pieces(rows)
        for operand in operands[:-1]:
            values = operand(pieces.rest)
            present = (TRUE if values.is_valid else FALSE) if is_scalar(values) else _IS_VALID.call([values])
            if pieces.give(present, _not_null(values)):
                return pieces.assembled()
        pieces.give(TRUE, operands[-1])
        return pieces.assembled()

    return run


def lazy_connective(left: Evaluator, right: Evaluator, *, conjunction: bool) -> Evaluator:
    """Compile AND (``conjunction``) or OR to an evaluator that evaluates the right operand only for the rows
    in which the left operand is not false (for OR: not true)."""
    kernel, decisive = (_AND, False) if conjunction else (_OR, True)

    def run(rows: Rows) -> Datum:
        first = left(rows)
        if is_scalar(first):
            if first.as_py() is decisive:
                return first
            return kernel.call([first, right(rows)])
        if rows.length == 0:
            return first
        undecided = _COALESCE.call([first, TRUE if conjunction else FALSE])
        if not conjunction:
            undecided = _INVERT.call([undecided])
        count = undecided.true_count
        if count == rows.length:
            return kernel.call([first, right(rows)])
        if count == 0:
            return first
        second = right(rows.select(true_rows(undecided)))
        if not is_scalar(second):
            spread = pc.call_function("replace_with_mask", [first, undecided, second])
            return kernel.call([first, spread])
        return kernel.call([first, second])

    return run


def until_null(
    kernel: "registry.PreparedKernel", operands: tuple[Evaluator, ...], ending: int, data_type: pa.DataType
) -> Evaluator:
    """Compile the call of a kernel that returns null for a null among the first ``ending`` operands to an
    evaluator that evaluates an operand only for the rows in which none of these before it is null.
    ``data_type`` is the logical type of the result."""

    def run(rows: Rows) -> Datum:
        rest, indices, values = rows, None, list[Datum]()
        for place, operand in enumerate(operands):
            value = plain(operand(rest))
            values.append(value)
            if place >= ending:
                continue
            if is_scalar(value):
                if not value.is_valid:
                    return nulls(data_type)
            elif value.null_count:
                valid = true_rows(_IS_VALID.call([value]))
                values = [one if is_scalar(one) else _TAKE.call([one, valid]) for one in values]
                indices = valid if indices is None else _TAKE.call([indices, valid])
                rest = rest.select(valid)
        result = kernel(tuple(values), rest.length)
        return result if indices is None else _spread(full_array(result, rest.length), indices, rows.length)

    return run


def _spread(values: pa.Array, indices: pa.Array, length: int) -> pa.Array:
    """Return ``length`` values: ``values`` at the ascending positions ``indices``, and nulls elsewhere."""
    options = pc.InversePermutationOptions(length - 1)
    return _TAKE.call([values, pc.call_function("inverse_permutation", [indices.view(INT64)], options)])


def _not_null(values: Datum) -> Evaluator:
    """Return an evaluator over ``values``, already computed for all rows. For all rows the evaluator returns
    ``values``; it is otherwise called for exactly the rows that are not null, and returns the values without
    nulls."""
    return lambda rows: (
        values if is_scalar(values) or rows.length == len(values) else _DROP_NULL.call([values])
    )


class _Pieces:
    """A result under construction: values for disjoint sets of rows, and the rows that have no value yet."""

    def __init__(self, rows: Rows) -> None:
        self.rest = rows
        self._indices: pa.Array | None = None
        self._done: list[tuple[pa.Array | None, Datum, int]] = []

    def give(self, mask: Datum, value: Evaluator) -> bool:
        """Evaluate ``value`` for the remaining rows where ``mask`` is true, and store the values in the
        result; the rows where ``mask`` is false or null remain. Return True if no row remains."""
        rest = self.rest
        count = (rest.length if mask.as_py() else 0) if is_scalar(mask) else mask.true_count
        if count == 0:
            return False
        if count == rest.length:
            self._done.append((self._indices, value(rest), rest.length))
            return True
        chosen = true_rows(mask)
        self._done.append((self._original(chosen), value(rest.select(chosen)), count))
        others = true_rows(_INVERT.call([_COALESCE.call([mask, FALSE])]))
        self._indices = self._original(others)
        self.rest = rest.select(others)
        return False

    def _original(self, indices: pa.Array) -> pa.Array:
        return indices if self._indices is None else _TAKE.call([self._indices, indices])

    def assembled(self) -> Datum:
        """Return the result: the stored values in the order of the rows. Every row must have got a value."""
        if len(self._done) == 1 and self._done[0][0] is None:
            return self._done[0][1]
        values = pa.concat_arrays([full_array(datum, count) for _, datum, count in self._done])
        order = pa.concat_arrays([indices for indices, _, _ in self._done])
        return _TAKE.call([values, _INVERSE.call([order.view(INT64)])])
