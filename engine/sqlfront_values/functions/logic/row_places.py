"""The place at which a row is evaluated: monotonically_increasing_id, spark_partition_id."""

from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_numpy
from sqlfront_values.arrow.forms import Datum, constant
from sqlfront_values.functions.registry import PreparedKernel, ScalarFunction, Signature, register
from sqlfront_values.types import BIGINT, INT

#: Bits of an id below the number of the instance, for the number of the row.
_ROW_BITS: Final = 33


def _increasing_id(signature: Signature) -> PreparedKernel:
    """Make the kernel of monotonically_increasing_id: numbers from 0, in each further instance of the
    operator from a multiple of 2**33."""
    following = signature.settings.instance << _ROW_BITS

    def run(arguments: tuple[Datum, ...], length: int) -> pa.Array:
        nonlocal following
        first, following = following, following + length
        return from_numpy(np.arange(first, following, dtype=np.int64), BIGINT)

    return run


def _partition_id(signature: Signature) -> PreparedKernel:
    number = constant(signature.settings.instance, INT)
    return lambda arguments, length: number


register(
    ScalarFunction(
        "monotonically_increasing_id",
        (),
        BIGINT,
        prepare=_increasing_id,
        deterministic=False,
        example=("monotonically_increasing_id()", "0"),
    ),
    ScalarFunction(
        "spark_partition_id",
        (),
        INT,
        prepare=_partition_id,
        deterministic=False,
        example=("spark_partition_id()", "0"),
    ),
)
