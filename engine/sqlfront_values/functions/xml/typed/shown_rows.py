"""Rows as Spark shows the rows of its engine in messages."""

from collections.abc import Sequence

import pyarrow as pa

from sqlfront_values.java.floats import float_text
from sqlfront_values.types import FLOAT, is_variant
from sqlfront_values.variants.reading import variant_of
from sqlfront_values.variants.texts import json_text


def shown_row(values: Sequence[object], kind: pa.StructType) -> str:
    """Return a row, whose values are those of :mod:`sqlfront_values.functions.json.typed.columns`, as a text.

    >>> shown_row((1, None, ["x"]), pa.struct([("a", "int32"), ("b", "int32"), ("c", pa.list_(pa.string()))]))
    '[1,null,[x]]'
    """
    return f"[{','.join(_shown(value, field.type) for value, field in zip(values, kind, strict=True))}]"


def _shown(value: object, kind: pa.DataType) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float():
            return float_text(value, single=kind == FLOAT)
        case tuple():
            return shown_row(value, kind)
        case list() if pa.types.is_map(kind):
            keys = ",".join(key for key, _ in value)
            return f"keys: [{keys}], values: [{','.join(_shown(item, kind.item_type) for _, item in value)}]"
        case list():
            return f"[{','.join(_shown(item, kind.value_type) for item in value)}]"
        case _ if is_variant(kind):
            return json_text(variant_of(value), "UTC")  # type: ignore[arg-type]
        case _:
            return str(value)
