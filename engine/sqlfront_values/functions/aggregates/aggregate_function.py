"""The contract of an aggregate function."""

from collections.abc import Callable

import msgspec
import pyarrow as pa

from sqlfront_values.functions.aggregates.accumulators.base import Accumulator
from sqlfront_values.functions.aggregates.accumulators.lists import Distinct
from sqlfront_values.functions.registry import ArgumentType, ResultType


class AggregateSignature(msgspec.Struct, frozen=True):
    """The parts of a call that are known before any row is read: the logical types of the arguments
    (constants included) and of the result, and the Python values of the constant arguments, in order, without
    omitted arguments."""

    argument_types: tuple[pa.DataType, ...]
    type: pa.DataType
    constants: tuple[object, ...] = ()


AccumulatorFactory = Callable[[AggregateSignature], Accumulator]


class AggregateFunction(msgspec.Struct, frozen=True):
    """The entry of an aggregate function in the registry.

    ``arguments`` are the types of all positions, of which a call may omit the last ``optional``; if
    ``variadic``, the last position repeats. ``result`` is the logical type, or a function from the coerced
    argument types to the logical type. ``display`` replaces the name in the names of result columns. The
    arguments at the positions ``constants`` must be the same for all rows (a literal, or foldable);
    ``accumulator`` gets their values in the :class:`AggregateSignature`, not as columns. Result-column names
    leave out the arguments at the positions ``hidden`` and show ``shown_defaults`` for the last optional
    arguments when the call omits them. ``distinct_matters`` says whether DISTINCT can change the result.
    ``written`` is the greatest number of arguments that a text may give (None = all); the binder adds the
    others, which say the order of WITHIN GROUP. ``allowed`` has for the first positions the types that Spark
    takes, in the order of its messages; a null has any of these types, unless ``typed``.
    ``constant_condition`` is Spark's condition of the error for an argument at the positions ``constants``
    that isn't constant, if it has one of its own. ``example`` is a query and the ``repr`` of its Python
    value. ``aliases`` are further names of the function.
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
    written: int | None = None
    allowed: tuple[tuple[pa.DataType, ...], ...] = ()
    typed: bool = False
    constant_condition: str | None = None
    display: str | None = None
    example: tuple[str, str] | None = None
    aliases: tuple[str, ...] = ()

    def result_type(self, argument_types: tuple[pa.DataType, ...]) -> pa.DataType:
        """Return the logical result type of a call; ``argument_types`` are the logical types after
        coercion."""
        return self.result(argument_types) if callable(self.result) else self.result

    def make(self, signature: AggregateSignature, *, distinct: bool = False) -> Accumulator:
        """Make the accumulator of a call; its argument columns are the call's arguments that are not
        constant. If ``distinct``, equal argument rows of a group count once, unless DISTINCT can't change the
        result."""
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
