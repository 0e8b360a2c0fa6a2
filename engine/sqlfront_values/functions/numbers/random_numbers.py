"""rand, randn, randstr and shuffle: new random values for every row. With a seed, every run over the same
batches gives the same values, and a single instance gives those of Spark over one partition."""

import secrets
from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_numpy, from_values
from sqlfront_values.arrow.forms import Datum
from sqlfront_values.functions import growth
from sqlfront_values.functions.numbers.xorshift import XorShiftStream
from sqlfront_values.functions.registry import Kind, PreparedKernel, ScalarFunction, Signature, register
from sqlfront_values.types import DOUBLE, INT, STRING

Draw = Callable[[XorShiftStream, int], npt.NDArray[np.float64]]

_CHARACTERS: Final = np.frombuffer(
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", np.uint8
)
#: Bytes of a state, and of what is computed from it, for a random character.
_PER_CHARACTER: Final = 32


def seed_of(signature: Signature, place: int) -> int:
    """Return the seed of a call: its argument at ``place`` (null counts as 0), or a new one for a call
    without that argument; plus the number of the instance that evaluates the call, as Spark adds the
    partition's."""
    if place >= len(signature.constants):
        return secrets.randbits(63)
    known = signature.constants[place]
    return ((known.as_py() if known is not None else None) or 0) + signature.settings.instance


def _random(draw: Draw) -> Callable[[Signature], PreparedKernel]:
    """Return a function that makes the kernel of a random function for a signature. Each kernel has a new
    stream of random numbers; ``draw(stream, length)`` takes numbers from the stream."""

    def prepare(signature: Signature) -> PreparedKernel:
        stream = XorShiftStream(seed_of(signature, 0))

        def run(arguments: tuple[Datum, ...], length: int) -> pa.Array:
            return from_numpy(draw(stream, length), DOUBLE)

        return run

    return prepare


def _entry(name: str, draw: Draw, first: str) -> ScalarFunction:
    return ScalarFunction(
        name,
        (Kind.INT_OR_BIGINT,),
        DOUBLE,
        prepare=_random(draw),
        optional=1,
        null_propagating=False,
        deterministic=False,
        constants=(0,),
        example=(f"{name}(0)", first),
    )


# ---- texts


def _randstr(signature: Signature) -> PreparedKernel:
    """Make the kernel of ``randstr(length, seed)``: texts of letters and digits. A null length counts as
    0."""
    known = signature.constants[0]
    width = (known.as_py() if known is not None else None) or 0
    stream = XorShiftStream(seed_of(signature, 1))

    def run(arguments: tuple[Datum, ...], length: int) -> pa.Array:
        drawn = np.abs(np.fmod(stream.ints(width * length).astype(np.int64), len(_CHARACTERS)))
        data = _CHARACTERS[drawn].tobytes()
        texts = [data[place : place + width].decode() for place in range(0, len(data), width or 1)]
        return from_values(texts or [""] * length, STRING)

    return run


def _randstr_size(arguments: tuple[Datum, ...], rows: int) -> int:
    return growth.total(growth.counts(arguments[0]) * _PER_CHARACTER, rows)


register(
    _entry("rand", XorShiftStream.doubles, "0.7604953758285915"),
    _entry("random", XorShiftStream.doubles, "0.7604953758285915"),
    _entry("randn", XorShiftStream.normals, "1.6034991609278433"),
    ScalarFunction(
        "randstr",
        (INT, Kind.INT_OR_BIGINT),
        STRING,
        prepare=_randstr,
        optional=1,
        null_propagating=False,
        deterministic=False,
        constants=(0, 1),
        growth=_randstr_size,
        example=("randstr(3, 0)", "'ceV'"),
    ),
)
