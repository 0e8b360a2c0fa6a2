"""shuffle: the elements of arrays in random order."""

import secrets
from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow.forms import Datum, full_array
from sqlfront_values.columns.batches import gather, row_indices
from sqlfront_values.columns.lists import put_together, take_apart
from sqlfront_values.functions.registry import Kind, PreparedKernel, ScalarFunction, Signature, register
from sqlfront_values.types import BIGINT

_WORD: Final = 2**32 - 1
#: Numbers that a stream draws at a time.
_DRAWN: Final = 1024


class _TwisterStream:
    """Random numbers of Apache Commons' ``MersenneTwister``, by which Spark shuffles."""

    def __init__(self, seed: int) -> None:
        self._words = np.random.RandomState(np.array([seed >> 32 & _WORD, seed & _WORD], np.uint32))
        self._drawn: list[int] = []

    def order(self, count: int) -> list[int]:
        """Return the numbers below ``count`` in random order."""
        order: list[int] = []
        for place in range(count):
            other = self._below(place + 1)
            if other == place:
                order.append(place)
            else:
                order.append(order[other])
                order[other] = place
        return order

    def _below(self, bound: int) -> int:
        """Return the next number from 0 to ``bound - 1`` (``nextInt(bound)``)."""
        if bound & -bound == bound:
            return bound * self._next() >> 31
        while True:
            bits = self._next()
            value = bits % bound
            if bits - value + bound - 1 < 2**31:
                return value

    def _next(self) -> int:
        """Return the next 31 random bits."""
        if not self._drawn:
            words = np.frombuffer(self._words.bytes(4 * _DRAWN), "<u4")
            self._drawn = (words >> 1).tolist()[::-1]
        return self._drawn.pop()


def _shuffle(signature: Signature) -> PreparedKernel:
    """Make the kernel of ``shuffle(array, seed)``; without a seed, or with a null, the seed is a new one."""
    known = signature.constants[1] if len(signature.constants) > 1 else None
    seed = known.as_py() if known is not None else None
    stream = _TwisterStream((secrets.randbits(63) if seed is None else seed) + signature.settings.instance)

    def run(arguments: tuple[Datum, ...], length: int) -> pa.Array:
        column = full_array(arguments[0], length)
        lists = take_apart(column)
        orders = [stream.order(count) for count in lists.lengths.tolist()]
        order = np.fromiter((place for places in orders for place in places), np.int64)
        elements = gather(lists.elements, row_indices(order + np.repeat(lists.starts, lists.lengths)))
        return put_together(column.type, elements, lists.lengths, lists.valid)

    return run


register(
    ScalarFunction(
        "shuffle",
        (Kind.ARRAY, BIGINT),
        lambda types: types[0],
        prepare=_shuffle,
        optional=1,
        null_propagating=False,
        deterministic=False,
        constants=(1,),
        example=("shuffle(array(1, 20, 3, 5), 7)", "[1, 20, 5, 3]"),
    ),
)
