"""The types that Spark records in the files it writes: names of types in the metadata of ORC's columns, a
schema in JSON in Parquet's footers. A recorded type takes precedence over the type that the format itself
states."""

import json
import re
from typing import Final

import pyarrow as pa

from sqlfront_values.errors import NotSupportedError
from sqlfront_values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TINYINT,
    decimal,
)

_NAMES: Final = {
    "string": STRING,
    "binary": BINARY,
    "boolean": BOOLEAN,
    "byte": TINYINT,
    "tinyint": TINYINT,
    "short": SMALLINT,
    "smallint": SMALLINT,
    "integer": INT,
    "int": INT,
    "long": BIGINT,
    "bigint": BIGINT,
    "float": FLOAT,
    "double": DOUBLE,
    "date": DATE,
    "timestamp": TIMESTAMP,
    "timestamp_ntz": TIMESTAMP_NTZ,
}
_DECIMAL: Final = r"decimal\((\d+), ?(\d+)\)"
#: Texts in a field's metadata of strings with their own comparison: by a collation, or without trailing
#: blanks.
_COLLATIONS: Final = "__COLLATIONS"
_FIXED_LENGTH: Final = r"__CHAR_VARCHAR_TYPE_STRING.*\bchar\("


def named_type(name: str) -> pa.DataType:
    """Return the type that Spark records under ``name``. Raises NotSupportedError for a name that is not
    supported.

    >>> str(named_type("long"))
    'int64'
    """
    found = re.fullmatch(_DECIMAL, name)
    if found is not None:
        return decimal(int(found[1]), int(found[2]))
    if name not in _NAMES:
        raise NotSupportedError(f"columns that Spark has written as {name}")
    return _NAMES[name]


def written_schema(text: str) -> pa.Schema:
    """Return the schema that Spark has recorded as the JSON ``text`` in a Parquet footer. Raises
    NotSupportedError for an unsupported type."""
    return pa.schema(_fields(json.loads(text)["fields"]))


def _fields(fields: list[dict[str, object]]) -> list[pa.Field]:
    for field in fields:
        metadata = str(field.get("metadata"))
        if _COLLATIONS in metadata:
            raise NotSupportedError(f"column `{field['name']}`, which Spark has written with a collation")
        if re.search(_FIXED_LENGTH, metadata):
            raise NotSupportedError(f"column `{field['name']}`, which Spark has written with the type CHAR")
    return [pa.field(str(field["name"]), _type(field["type"])) for field in fields]


def _type(written: object) -> pa.DataType:
    match written:
        case str():
            return named_type(written)
        case {"type": "struct", "fields": list() as fields}:
            return pa.struct(_fields(fields))
        case {"type": "array", "elementType": element}:
            return pa.list_(_type(element))
        case {"type": "map", "keyType": key, "valueType": value}:
            return pa.map_(_type(key), _type(value))
        case _:
            raise NotSupportedError("columns that Spark has written with a user-defined type")
