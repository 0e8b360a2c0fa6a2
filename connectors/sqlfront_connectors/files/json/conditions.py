"""Spark's checks around its JSON parser: the column of corrupt records, and the query's filters that the
parser applies while it reads a record."""

from collections.abc import Sequence
from enum import Enum
from functools import reduce

import pyarrow as pa

from sqlfront_values.errors import DatabaseError, ProgrammingError
from sqlfront_values.evaluate import evaluate
from sqlfront_values.expressions import Call, EngineExpr, columns_used
from sqlfront_values.functions.json.typed.settings import JsonSettings
from sqlfront_values.settings import Settings
from sqlfront_values.types import BOOLEAN, STRING, ddl, physical


class Pushdown(Enum):
    """The kinds of filters by which Spark's parser may stop reading a record, so that errors in the rest of
    the record go unnoticed; it stops as soon as a filter is false. NONE: no filters. DROPS_NULLS: filters
    that a row of nulls doesn't fulfil. PASSES_NULLS: filters that a row of nulls may fulfil."""

    NONE = "none"
    """No condition: the parser reads the whole record."""
    DROPS_NULLS = "drops nulls"
    """Conditions that a row of nulls does not fulfil."""
    PASSES_NULLS = "passes nulls"
    """Conditions that a row of nulls may fulfil."""


def pushdown(filters: Sequence[EngineExpr], schema: pa.Schema, settings: JsonSettings) -> Pushdown:
    """Return the :class:`Pushdown` of the query's filters (over ordinals of ``schema``). Only filters that
    use nothing but fields of the JSON text count; filters over the column for the text of malformed records
    are ignored."""
    fields = {index for index, name in enumerate(schema.names) if name != settings.corrupt_column}
    pushed = [condition for condition in filters if columns_used(condition) <= fields]
    if not pushed:
        return Pushdown.NONE
    nulls = [pa.nulls(1, physical(field.type)) for field in schema]
    batch = pa.RecordBatch.from_arrays(nulls, names=[str(index) for index in range(len(nulls))])
    both = reduce(lambda left, right: Call(BOOLEAN, "and", (left, right)), pushed)
    try:
        passes = evaluate(both, batch, Settings())[0].as_py()
    except DatabaseError:
        passes = True
    return Pushdown.PASSES_NULLS if passes else Pushdown.DROPS_NULLS


def check_corrupt_column(names: Sequence[str], schema: pa.Schema, settings: JsonSettings) -> None:
    """Check the column for the text of malformed records. Raise ProgrammingError, as Spark does, if this
    column of ``schema`` is not a string, or if it is the only column in ``names``, the columns that the query
    reads."""
    name = settings.corrupt_column
    index = schema.get_field_index(name)
    if index >= 0 and schema.field(index).type != STRING:
        raise ProgrammingError(
            f"The column `{name}` for corrupt records must have the nullable STRING type, but got "
            f'"{ddl(schema.field(index).type).upper()}".',
            condition="INVALID_CORRUPT_RECORD_TYPE",
        )
    if list(names) == [name]:
        raise ProgrammingError(
            "The feature is not supported: Queries from raw JSON/CSV/XML files are disallowed when the "
            f"referenced columns only include the internal corrupt record column (named `{name}` here).",
            condition="UNSUPPORTED_FEATURE.QUERY_ONLY_CORRUPT_RECORD_COLUMN",
        )
