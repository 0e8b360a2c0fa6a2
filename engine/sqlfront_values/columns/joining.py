"""Texts of several columns, joined row by row."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from sqlfront_values.arrow import kernels as pc
from sqlfront_values.arrow.arrays import scalar
from sqlfront_values.arrow.forms import Datum
from sqlfront_values.types import STRING

_EMPTY: Final = scalar("", STRING)
_NULL: Final = scalar(None, STRING)
_JOIN: Final = pc.function("binary_join_element_wise", "JoinOptions", null_handling="skip")


def join_present(parts: Sequence[Datum], separator: pa.Scalar) -> pa.Array:
    """Return in each row the texts of the parts that are not null, with the separator between; an empty text
    if all are null. At least one of the parts is an array; none is a null scalar."""
    return _JOIN.call([*_one_present(parts), separator])


def _one_present(parts: Sequence[Datum]) -> Sequence[Datum]:
    """Return the parts with an empty text as the first part in rows where all parts are null, since Arrow's
    join has no row for these."""
    if not all(isinstance(part, pa.Array) and part.null_count for part in parts):
        return parts
    present = pc.call_function("coalesce", list(parts)).is_valid()
    filler = pc.call_function("if_else", [present, _NULL, _EMPTY])
    return [pc.call_function("coalesce", [parts[0], filler]), *parts[1:]]
