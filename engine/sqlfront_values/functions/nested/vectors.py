"""Vectors, as arrays of floats: vector_inner_product, vector_l2_distance, vector_norm and others.

Spark adds the products of eight elements at a time, in double precision. So do these kernels, all rows of one
length together: the same order of additions gives the same last digit.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_numpy, numpy_view, scalar, valid_mask
from sqlfront_values.arrow.forms import Datum, full_array
from sqlfront_values.columns.batches import Mask
from sqlfront_values.columns.lists import Lists, both_valid, put_together, take_apart
from sqlfront_values.errors import spark_error
from sqlfront_values.functions.registry import Invocation, Kernel, ScalarFunction, register
from sqlfront_values.functions.rowwise import columnar
from sqlfront_values.types import FLOAT

Doubles = npt.NDArray[np.float64]
#: From the vectors of some rows, all of one length (a row of the array each), to a number per row.
Measure = Callable[..., Doubles]
#: From the vectors of some rows to a truth value per row.
Test = Callable[..., Mask]

_VECTOR: Final = pa.list_(FLOAT)
#: Elements whose terms Spark adds before it adds them to the sum.
_BLOCK: Final = 8
_EUCLIDEAN: Final = 2.0


def _summed(terms: Doubles) -> Doubles:
    """Add the terms of each row in Spark's order."""
    length = terms.shape[1]
    whole = length // _BLOCK * _BLOCK
    total = np.zeros(len(terms))
    for first in range(0, whole, _BLOCK):
        block = terms[:, first]
        for place in range(first + 1, first + _BLOCK):
            block = block + terms[:, place]
        total = total + block
    for place in range(whole, length):
        total = total + terms[:, place]
    return total


def _inner_product(left: Doubles, right: Doubles) -> Doubles:
    return _summed(left * right)


def _distance(left: Doubles, right: Doubles) -> Doubles:
    difference = left - right
    return np.sqrt(_summed(difference * difference))


def _cosine(left: Doubles, right: Doubles) -> Doubles:
    """Return the cosine of the angle of two vectors; undefined if one has no length."""
    return _summed(left * right) / np.sqrt(_summed(left * left) * _summed(right * right))


def _is_null_cosine(left: Doubles, right: Doubles) -> Mask:
    return np.sqrt(_summed(left * left) * _summed(right * right)) == 0


def _norm_of(vectors: Doubles, degree: float) -> Doubles:
    if degree == 1:
        return _summed(np.abs(vectors))
    if degree == _EUCLIDEAN:
        return np.sqrt(_summed(vectors * vectors))
    return np.abs(vectors).max(axis=1, initial=0.0)


# ---- rows of one length


def _groups(lengths: npt.NDArray[np.int64], chosen: Mask) -> list[tuple[int, npt.NDArray[np.int64]]]:
    """Return the chosen rows by the length of their vectors."""
    return [
        (int(length), np.flatnonzero(chosen & (lengths == length))) for length in np.unique(lengths[chosen])
    ]


def _vectors(lists: Lists, rows: npt.NDArray[np.int64], length: int) -> Doubles:
    """Return the vectors of the rows, all of ``length`` elements, as a row of the array each."""
    values = numpy_view(lists.elements).astype(np.float64)
    return values[lists.starts[rows][:, None] + np.arange(length)]


def _without_nulls(lists: Lists) -> Mask:
    """Return the mask of the rows that are not null, and of whose elements none is null."""
    complete = np.ones(len(lists.lengths), np.bool_) if lists.valid is None else lists.valid.copy()
    valid = valid_mask(lists.elements)
    if valid is not None:
        missing = np.concatenate([[0], np.cumsum(~valid)])
        complete &= missing[lists.starts + lists.lengths] == missing[lists.starts]
    return complete


# ---- two vectors


def _of_two(name: str, measure: Measure, is_null: Test | None = None) -> Kernel:
    """Make the kernel of a measure of two vectors of one dimension. Rows for which ``is_null`` is true, and
    rows with a null, are null."""

    @columnar
    @np.errstate(all="ignore")
    def kernel(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
        left, right = (take_apart(full_array(argument, invocation.length)) for argument in arguments)
        given = both_valid(left.valid, right.valid)
        other = left.lengths != right.lengths
        other = other if given is None else other & given
        if other.any():
            row = int(np.argmax(other))
            raise spark_error(
                "VECTOR_DIMENSION_MISMATCH",
                f"Vectors passed to `{name}` must have the same dimension, but got {left.lengths[row]} and"
                f" {right.lengths[row]}.",
            )
        valid = _without_nulls(left) & _without_nulls(right)
        result = np.zeros(invocation.length)
        for length, rows in _groups(left.lengths, valid):
            vectors = _vectors(left, rows, length), _vectors(right, rows, length)
            result[rows] = measure(*vectors)
            if is_null is not None:
                valid[rows] = np.logical_not(is_null(*vectors))
        return from_numpy(result.astype(np.float32), FLOAT, valid)

    return kernel


# ---- one vector


def _norms(name: str, lists: Lists, degrees: pa.Array, chosen: Mask) -> Doubles:
    """Return the norm of each chosen row's vector. Raises INVALID_VECTOR_NORM_DEGREE for a degree that Spark
    doesn't know."""
    given = numpy_view(degrees).astype(np.float64)
    result = np.zeros(len(given))
    for degree in np.unique(given[chosen]).tolist():
        if degree not in (1.0, _EUCLIDEAN, np.inf):
            raise spark_error(
                "INVALID_VECTOR_NORM_DEGREE",
                f"For the `{name}` function, degree must be 1.0, 2.0, or float('inf'), but got {degree}.",
            )
        for length, rows in _groups(lists.lengths, chosen & (given == degree)):
            result[rows] = _norm_of(_vectors(lists, rows, length), degree)
    return result


def _arguments(arguments: tuple[Datum, ...], length: int) -> tuple[Lists, pa.Array, Mask]:
    """Return the vectors, their degrees, and the mask of the rows in which neither is null."""
    lists = take_apart(full_array(arguments[0], length))
    degree = arguments[1] if len(arguments) > 1 else scalar(_EUCLIDEAN, FLOAT)
    degrees = full_array(degree, length)
    given = both_valid(lists.valid, valid_mask(degrees))
    return lists, degrees, np.ones(length, np.bool_) if given is None else given


@columnar
@np.errstate(all="ignore")
def _norm(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    lists, degrees, given = _arguments(arguments, invocation.length)
    norms = _norms("vector_norm", lists, degrees, given)
    return from_numpy(norms.astype(np.float32), FLOAT, given & _without_nulls(lists))


@columnar
@np.errstate(all="ignore")
def _normalize(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    lists, degrees, given = _arguments(arguments, invocation.length)
    norms = _norms("vector_normalize", lists, degrees, given)
    valid = given & _without_nulls(lists) & ((norms != 0) | (lists.lengths == 0))
    lengths = np.where(valid, lists.lengths, 0)
    kept = Lists(lists.elements, lists.starts, lengths, None)
    elements = numpy_view(kept.flat()).astype(np.float64)
    divided = (elements / np.repeat(norms, lengths)).astype(np.float32)
    return put_together(invocation.type, from_numpy(divided, FLOAT), lengths, valid)


_HERE: Final = "array(1F, 2F), array(3F, 4F)"

register(
    ScalarFunction(
        "vector_inner_product",
        (_VECTOR, _VECTOR),
        FLOAT,
        _of_two("vector_inner_product", _inner_product),
        can_fail=True,
        exact=(0, 1),
        example=(f"vector_inner_product({_HERE})", "11.0"),
    ),
    ScalarFunction(
        "vector_l2_distance",
        (_VECTOR, _VECTOR),
        FLOAT,
        _of_two("vector_l2_distance", _distance),
        can_fail=True,
        exact=(0, 1),
        example=("vector_l2_distance(array(0F, 0F), array(3F, 4F))", "5.0"),
    ),
    ScalarFunction(
        "vector_cosine_similarity",
        (_VECTOR, _VECTOR),
        FLOAT,
        _of_two("vector_cosine_similarity", _cosine, _is_null_cosine),
        can_fail=True,
        exact=(0, 1),
        example=("vector_cosine_similarity(array(1F, 0F), array(3F, 0F))", "1.0"),
    ),
    ScalarFunction(
        "vector_norm",
        (_VECTOR, FLOAT),
        FLOAT,
        _norm,
        optional=1,
        can_fail=True,
        exact=(0, 1),
        example=("vector_norm(array(3F, 4F))", "5.0"),
    ),
    ScalarFunction(
        "vector_normalize",
        (_VECTOR, FLOAT),
        _VECTOR,
        _normalize,
        optional=1,
        can_fail=True,
        exact=(0, 1),
        example=("vector_normalize(array(3F, 4F), float('inf'))", "[0.75, 1.0]"),
    ),
)
