"""The differences between the two engines' answers that the documents state, taken out of both: facts that
only one engine knows (times, owners, sizes), places, and what is another thing for tables in memory."""

import ast
import json
from dataclasses import replace
from typing import Final

from tests.oracle.answers import Answer, Outcome, Row

#: Facts of DESCRIBE EXTENDED that one engine alone has, or that name places and times.
_FACTS: Final = frozenset(
    (
        "Owner",
        "Created Time",
        "Last Access",
        "Created By",
        "Location",
        "Cached",
        "Statistics",
        "Partition Provider",
        "View Creation Spark Configuration",
    )
)
#: The same in DESCRIBE ... AS JSON.
_FIELDS: Final = frozenset(
    (
        "owner",
        "created_time",
        "last_access",
        "created_by",
        "location",
        "statistics",
        "partition_provider",
        "view_creation_spark_configuration",
    )
)
#: Of a view's columns, in DESCRIBE ... AS JSON: sqlfront doesn't derive which columns of a query can be null,
#: and says that all can.
_NULLABILITY: Final = frozenset(("nullable", "element_nullable", "value_nullable"))
#: What Spark is given and says where sqlfront has tables in memory.
MEMORY: Final = "USING memory"
FILES: Final = "USING parquet"
_MEMORY_FACT: Final = ("'Provider'", "'memory'", "''")
_JSON: Final = "json_metadata"


def comparable(outcome: Outcome) -> Outcome:
    """The outcome without what differs by design."""
    if not isinstance(outcome, Answer):
        return outcome
    if [column.name for column in outcome.columns] == [_JSON]:
        return replace(outcome, rows=tuple((_known_fields(row[0]),) for row in outcome.rows))
    return replace(outcome, rows=tuple(_as_files(row) for row in outcome.rows if row[0][1:-1] not in _FACTS))


def _known_fields(text: str) -> str:
    fields = json.loads(ast.literal_eval(text))
    known = {name: value for name, value in fields.items() if name not in _FIELDS}
    if known.get("provider") == "memory":
        known["provider"] = "parquet"
    if known.get("type") == "VIEW":
        known["columns"] = _without_nullability(known["columns"])
    return json.dumps(known, sort_keys=True)


def _without_nullability(described: object) -> object:
    match described:
        case dict():
            kept = described.items()
            return {name: _without_nullability(value) for name, value in kept if name not in _NULLABILITY}
        case list():
            return [_without_nullability(each) for each in described]
        case _:
            return described


def _as_files(row: Row) -> Row:
    if row == _MEMORY_FACT:
        return ("'Provider'", "'parquet'", "''")
    return tuple(value.replace(MEMORY, FILES) for value in row)
