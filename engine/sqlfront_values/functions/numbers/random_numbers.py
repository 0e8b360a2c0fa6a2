"""rand and randn: new random numbers for every row. With a seed, every run over the same batches gives the
same numbers."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_numpy
from sqlfront_values.arrow.forms import Datum
from sqlfront_values.functions.registry import PreparedKernel, ScalarFunction, Signature, register
from sqlfront_values.types import BIGINT, DOUBLE

Draw = Callable[["np.random.Generator", int], npt.NDArray[np.float64]]  # in quotes: numpy.random loads late


def _random(draw: Draw) -> Callable[[Signature], PreparedKernel]:
    """Return a function that makes the kernel of a random function for a signature. Each kernel has a new
    stream of random numbers, seeded by the call's argument (null counts as 0) if there is one. ``draw(stream,
    length)`` takes numbers from the stream."""

    def prepare(signature: Signature) -> PreparedKernel:
        seed = None
        if signature.constants:
            known = signature.constants[0]
            seed = (known.as_py() if known is not None else None) or 0
        stream = np.random.default_rng(None if seed is None else seed % 2**64)

        def run(arguments: tuple[Datum, ...], length: int) -> pa.Array:
            return from_numpy(draw(stream, length), DOUBLE)

        return run

    return prepare


def _entry(name: str, draw: Draw) -> ScalarFunction:
    return ScalarFunction(
        name,
        (BIGINT,),
        DOUBLE,
        prepare=_random(draw),
        optional=1,
        null_propagating=False,
        deterministic=False,
        constants=(0,),
    )


register(
    _entry("rand", lambda stream, length: stream.random(length)),
    _entry("random", lambda stream, length: stream.random(length)),
    _entry("randn", lambda stream, length: stream.standard_normal(length)),
)
