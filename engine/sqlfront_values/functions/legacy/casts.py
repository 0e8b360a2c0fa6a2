"""CAST with ANSI mode off, for the pairs of types where the mode makes a difference."""

import pyarrow as pa

from sqlfront_values.arrow.forms import Datum, full_array
from sqlfront_values.casts.legacy import make_legacy_convert
from sqlfront_values.functions.legacy import LEGACY_CAST
from sqlfront_values.functions.registry import Kind, PreparedKernel, ScalarFunction, Signature, register
from sqlfront_values.types import VOID


def _cast(signature: Signature) -> PreparedKernel:
    convert = make_legacy_convert(signature.argument_types[0], signature.type, signature.settings)

    def run(arguments: tuple[Datum, ...], length: int) -> Datum:
        (operand,) = arguments
        if isinstance(operand, pa.Scalar):
            return convert(pa.repeat(operand, 1))[0]
        return convert(full_array(operand, length))

    return run


register(ScalarFunction(LEGACY_CAST, (Kind.ANY,), VOID, prepare=_cast, elementwise_values=False))
