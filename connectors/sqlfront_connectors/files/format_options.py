"""Options of the formats Parquet and ORC, which have no module for settings."""

from collections.abc import Mapping
from typing import Final

from sqlfront_connectors.files.locations.listing_options import truth
from sqlfront_values.errors import NotSupportedError

#: The option that merges the schemas of all files, in lower case.
MERGE_SCHEMA: Final = "mergeschema"
#: An option of every file table that only writers use.
FOREIGN: Final = "overwriteforeignfiles"


def check_options(format_name: str, options: Mapping[str, str]) -> None:
    """Raise NotSupportedError, which names the option, for an option that Parquet and ORC tables don't know.

    >>> check_options("parquet", {"OverwriteForeignFiles": "true"})
    """
    unknown = sorted(key for key in options if key.lower() not in (FOREIGN, MERGE_SCHEMA))
    if unknown:
        raise NotSupportedError(
            f"option {unknown[0]} of USING {format_name}; the only known option is mergeSchema"
        )


def merges_schemas(options: Mapping[str, str]) -> bool:
    """Return whether the option mergeSchema is true, so that the table has the columns of all its files; by
    default a table has the columns of some files only. Raises ProgrammingError for a value that is neither
    true nor false.

    >>> merges_schemas({"mergeSchema": "True"})
    True
    """
    return any(truth(key, value) for key, value in options.items() if key.lower() == MERGE_SCHEMA)


def replaces_foreign_files(options: Mapping[str, str]) -> bool:
    """Return whether the option overwriteForeignFiles is true: INSERT OVERWRITE may then remove files that
    were not made by sqlfront or Spark as files of a table (Spark always removes them)."""
    return any(key.lower() == FOREIGN and value.lower() == "true" for key, value in options.items())
