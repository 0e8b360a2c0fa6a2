"""Options of the text formats."""

import codecs
from collections.abc import Mapping
from typing import Final

from sqlfront_engine.errors import NotSupportedError

#: The options that are honoured, lower case, with Spark's defaults.
_DEFAULTS: Final[dict[str, dict[str, str]]] = {
    "csv": {
        "header": "false",
        "sep": ",",
        "quote": '"',
        "escape": "\\",
        "nullvalue": "",
        "inferschema": "false",
        "mode": "PERMISSIVE",
        "multiline": "false",
        "encoding": "UTF-8",
    },
    "json": {"mode": "PERMISSIVE"},
    "parquet": {},
}
_SYNONYMS: Final = {"delimiter": "sep", "charset": "encoding"}


def check_options(format_name: str, options: Mapping[str, str]) -> dict[str, str]:
    """The options over the defaults, keys in lower case; an option or mode that isn't honoured is refused by
    name.

    >>> check_options("json", {"MODE": "FAILFAST"})
    {'mode': 'FAILFAST'}
    """
    defaults = _DEFAULTS[format_name]
    given = {_SYNONYMS.get(key.lower(), key.lower()): value for key, value in options.items()}
    unknown = sorted(set(given) - set(defaults))
    if unknown:
        raise NotSupportedError(
            f"option {unknown[0]} of USING {format_name}; known are {', '.join(defaults) or 'none'}"
        )
    merged = {**defaults, **given}
    if merged.get("mode", "PERMISSIVE").upper() not in ("PERMISSIVE", "FAILFAST"):
        raise NotSupportedError(
            f"mode {merged['mode']} of USING {format_name}; known are PERMISSIVE and FAILFAST"
        )
    try:
        codecs.lookup(merged.get("encoding", "UTF-8"))
    except LookupError:
        raise NotSupportedError(f"encoding {merged['encoding']} of USING {format_name}") from None
    return merged


def is_on(options: Mapping[str, str], name: str) -> bool:
    """Whether a boolean option is true."""
    return options[name].lower() == "true"


def fails_fast(options: Mapping[str, str]) -> bool:
    """Whether a malformed record is an error rather than null."""
    return options["mode"].upper() == "FAILFAST"
