"""Kernels of hash and xxhash64, as in Spark: over several columns, chained, nulls skipped."""

from typing import Final

import numpy as np
import numpy.typing as npt

from sqlfront_values.arrow.arrays import from_numpy
from sqlfront_values.arrow.forms import Datum, full_array, is_scalar
from sqlfront_values.functions.hashes.xxhash import xxhash64
from sqlfront_values.functions.registry import Invocation, Kind, ScalarFunction, register
from sqlfront_values.partitioning.partitions import hash_columns
from sqlfront_values.types import BIGINT, INT

#: The seed of Spark's ``XxHash64``.
_SEED: Final = 42


def _hash(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """Compute Spark's ``hash`` (murmur3, seed 42) of each row of the arguments; a scalar if all arguments are
    constants."""
    constant = all(map(is_scalar, arguments))
    length = 1 if constant else invocation.length
    result = from_numpy(hash_columns([full_array(argument, length) for argument in arguments], length), INT)
    return result[0] if constant else result


def _xxhash64(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    """Compute Spark's ``xxhash64`` (seed 42) of each row of the arguments; a scalar if all arguments are
    constants."""
    constant = all(map(is_scalar, arguments))
    length = 1 if constant else invocation.length
    hashes: npt.NDArray[np.uint64] = np.full(length, _SEED, np.uint64)
    for argument in arguments:
        hashes = xxhash64(full_array(argument, length), hashes)
    result = from_numpy(hashes.view(np.int64), BIGINT)
    return result[0] if constant else result


register(
    ScalarFunction(
        "hash",
        (Kind.ANY,),
        INT,
        _hash,
        variadic=True,
        null_propagating=False,
        example=("hash('a', 2, NULL)", "201997482"),
    ),
    ScalarFunction(
        "xxhash64",
        (Kind.ANY,),
        BIGINT,
        _xxhash64,
        variadic=True,
        null_propagating=False,
        example=("xxhash64('a', 1)", "-4810547614043336770"),
    ),
)
