"""The contract of an aggregate function."""

from collections.abc import Callable

import msgspec
import pyarrow as pa

from sqlfront_values.functions.aggregates.accumulators.base import Accumulator
from sqlfront_values.functions.aggregates.accumulators.lists import Distinct
from sqlfront_values.functions.registry import ArgumentType, ResultType


class AggregateSignature(msgspec.Struct, frozen=True):
    """The parts of a call that are known before any row: logical types of arguments (constants included) and
    result, and the Python values of the constant arguments, in order, without omitted arguments."""

    argument_types: tuple[pa.DataType, ...]
    type: pa.DataType
    constants: tuple[object, ...] = ()


AccumulatorFactory = Callable[[AggregateSignature], Accumulator]


class AggregateFunction(msgspec.Struct, frozen=True):
    """The entry of an aggregate function in the registry.

    ``arguments``, ``optional``, ``variadic``, ``result`` and ``display`` are as in
    :class:`~sqlfront_values.functions.registry.ScalarFunction`. The arguments at the positions ``constants``
    must be the same for all rows (a literal, or foldable); ``accumulator`` takes them instead of the rows.
    Result-column names leave out ``hidden`` positions and show ``shown_defaults`` for the last optional
    arguments when these are missing. ``distinct_matters``: whether DISTINCT can change the result.
    ``example``: ``(sql, repr of the Python value)``. ``aliases``: further names of the function.
    """

    name: str
    arguments: tuple[ArgumentType, ...]
    result: ResultType
    accumulator: AccumulatorFactory
    optional: int = 0
    variadic: bool = False
    constants: tuple[int, ...] = ()
    hidden: tuple[int, ...] = ()
    shown_defaults: tuple[str, ...] = ()
    distinct_matters: bool = True
    display: str | None = None
    example: tuple[str, str] | None = None
    aliases: tuple[str, ...] = ()

    def result_type(self, argument_types: tuple[pa.DataType, ...]) -> pa.DataType:
        """Return the logical result type for coerced logical argument types."""
        return self.result(argument_types) if callable(self.result) else self.result

    def make(self, signature: AggregateSignature, *, distinct: bool = False) -> Accumulator:
        """Make the accumulator of a call, which takes the call's arguments that are not constant. With
        ``distinct``, equal argument rows of a group count once, unless DISTINCT can't change the result."""
        inner = self.accumulator(signature)
        if not (distinct and self.distinct_matters):
            return inner
        return Distinct(
            inner,
            tuple(
                kind
                for position, kind in enumerate(signature.argument_types)
                if position not in self.constants
            ),
        )
