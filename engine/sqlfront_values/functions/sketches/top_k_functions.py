"""The most frequent items of a sketch: approx_top_k_estimate."""

from typing import Final

import pyarrow as pa

from sqlfront_values.arrow.arrays import scalar_to_python, to_python
from sqlfront_values.arrow.forms import Datum
from sqlfront_values.errors import NotSupportedError
from sqlfront_values.functions.registry import Invocation, Kind, ScalarFunction, register
from sqlfront_values.functions.rowwise import columnar
from sqlfront_values.functions.sketches.item_kinds import item_kind
from sqlfront_values.functions.sketches.top_k import (
    DEFAULT_K,
    check_at_most,
    check_k,
    check_tracked,
    declared_type,
    load_counted,
    state_of,
    top_type,
    tops,
)
from sqlfront_values.room import check
from sqlfront_values.types import INT


def _result(types: tuple[pa.DataType, ...]) -> pa.DataType:
    return top_type(types[0].field(2).type)


@columnar
def _estimate(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    states, *parameters = arguments
    item = invocation.argument_types[0].field(2).type
    kind = item_kind(item)
    assert kind is not None
    wanted = check_k(scalar_to_python(parameters[0]) if parameters else DEFAULT_K)
    found = []
    for fields in to_python(states):
        check()
        state = state_of(fields)
        check_at_most(wanted, check_tracked(state.tracked or 0))
        if declared_type(state.declaration or "") != item:
            raise NotSupportedError("approx_top_k_estimate of a state that declares another type of items")
        found.append(load_counted(state.sketch, kind))
    return tops(found, wanted, item, kind)


#: The state of the integers 1, 2 and 2.
_STATE: Final = (
    "struct(unhex('04010A0E030000000200000000000000030000000000000000000000000000000100000000000000"
    "0200000000000000090100000009020000000000000000000000'), 10000, 0, 'item INT NOT NULL')"
)

register(
    ScalarFunction(
        "approx_top_k_estimate",
        (Kind.STRUCT, INT),
        _result,
        _estimate,
        optional=1,
        constants=(1,),
        null_propagating=False,
        can_fail=True,
        example=(f"approx_top_k_estimate({_STATE}, 1)", "[{'item': 2, 'count': 2}]"),
    )
)
