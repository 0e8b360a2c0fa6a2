"""Options of formats without settings of their own."""

from collections.abc import Mapping
from typing import Final

from sqlfront_connectors.files.listing_options import truth
from sqlfront_values.errors import NotSupportedError

#: The option that has the schemas of all files merged, lower case.
MERGE_SCHEMA: Final = "mergeschema"
#: An option of every table of files, which no reader needs.
FOREIGN: Final = "overwriteforeignfiles"


def check_options(format_name: str, options: Mapping[str, str]) -> None:
    """NotSupportedError that names an option that isn't honoured.

    >>> check_options("parquet", {"OverwriteForeignFiles": "true"})
    """
    unknown = sorted(key for key in options if key.lower() not in (FOREIGN, MERGE_SCHEMA))
    if unknown:
        raise NotSupportedError(f"option {unknown[0]} of USING {format_name}; known is mergeSchema")


def merges_schemas(options: Mapping[str, str]) -> bool:
    """Whether the files' columns are those of all files together; ProgrammingError for a value that says
    neither.

    >>> merges_schemas({"mergeSchema": "True"})
    True
    """
    return any(truth(key, value) for key, value in options.items() if key.lower() == MERGE_SCHEMA)


def replaces_foreign_files(options: Mapping[str, str]) -> bool:
    """Whether INSERT OVERWRITE of a table with these options may remove files that no table's writer has made
    (Spark always does)."""
    return any(key.lower() == FOREIGN and value.lower() == "true" for key, value in options.items())
