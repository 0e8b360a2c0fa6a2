"""Options of formats without settings of their own."""

from collections.abc import Mapping
from typing import Final

from sqlfront_engine.errors import NotSupportedError

#: The options that are honoured, lower case, with Spark's defaults.
_DEFAULTS: Final[dict[str, dict[str, str]]] = {
    "orc": {},
    "parquet": {},
}
#: An option of every table of files, which no reader needs.
FOREIGN: Final = "overwriteforeignfiles"


def check_options(format_name: str, options: Mapping[str, str]) -> dict[str, str]:
    """The options over the defaults, keys in lower case; an option that isn't honoured is refused by name.

    >>> check_options("parquet", {"OverwriteForeignFiles": "true"})
    {}
    """
    defaults = _DEFAULTS[format_name]
    given = {key.lower(): value for key, value in options.items()}
    given.pop(FOREIGN, None)
    unknown = sorted(set(given) - set(defaults))
    if unknown:
        raise NotSupportedError(
            f"option {unknown[0]} of USING {format_name}; known are {', '.join(defaults) or 'none'}"
        )
    return {**defaults, **given}


def replaces_foreign_files(options: Mapping[str, str]) -> bool:
    """Whether INSERT OVERWRITE of a table with these options may remove files that no table's writer has made
    (Spark always does)."""
    return any(key.lower() == FOREIGN and value.lower() == "true" for key, value in options.items())
