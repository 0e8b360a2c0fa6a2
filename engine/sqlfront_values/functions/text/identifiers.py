"""uuid: a new random identifier for every row."""

import uuid

import pyarrow as pa

from sqlfront_values.arrow.arrays import from_values
from sqlfront_values.arrow.forms import Datum
from sqlfront_values.functions import growth
from sqlfront_values.functions.registry import Invocation, ScalarFunction, register
from sqlfront_values.types import STRING


def _uuid(arguments: tuple[Datum, ...], invocation: Invocation) -> pa.Array:
    return from_values([str(uuid.uuid4()) for _ in range(invocation.length)], STRING)


register(
    ScalarFunction(
        "uuid", (), STRING, _uuid, growth=growth.at_most(36), null_propagating=False, deterministic=False
    )
)
