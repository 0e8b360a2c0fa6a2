"""The type that covers the variants of a group: schema_of_variant_agg."""

from collections.abc import Sequence

import msgspec
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_values
from sqlfront_values.functions.aggregates.accumulators.base import Groups, without_nulls
from sqlfront_values.functions.json.typed.inference import Kind
from sqlfront_values.functions.variants.schemas import merged, restored, schema_of, schema_text, stored
from sqlfront_values.room import check
from sqlfront_values.types import STRING, VOID
from sqlfront_values.variants.reading import variant_of

_ROWS_BETWEEN_CHECKS = 256


class VariantSchema(msgspec.Struct, frozen=True):
    """The aggregate schema_of_variant_agg. A state is the text of the type that covers the group's variants
    (:func:`~sqlfront_values.functions.variants.schemas.stored`)."""

    state_types = (STRING,)

    def update(self, groups: Groups, arguments: Sequence[pa.Array]) -> list[pa.Array]:
        groups, (column,) = without_nulls(groups, arguments)
        return _covering(groups, [schema_of(variant_of(row)) for row in column.to_pylist()])

    def merge(self, groups: Groups, states: Sequence[pa.Array]) -> list[pa.Array]:
        return _covering(groups, [restored(text) for text in states[0].to_pylist()])

    def finish(self, states: Sequence[pa.Array]) -> pa.Array:
        return from_values([schema_text(restored(text)) for text in states[0].to_pylist()], STRING)


def _covering(groups: Groups, kinds: Sequence[Kind]) -> list[pa.Array]:
    found: list[Kind] = [VOID] * groups.size
    for place, (number, kind) in enumerate(zip(groups.ids.tolist(), kinds, strict=True)):
        if place % _ROWS_BETWEEN_CHECKS == 0:
            check()
        found[number] = merged(found[number], kind)
    return [from_values([stored(kind) for kind in found], STRING)]
