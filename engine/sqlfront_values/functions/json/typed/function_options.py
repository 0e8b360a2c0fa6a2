"""The options of the functions over JSON texts, given as ``map('key', 'value', ...)``."""

from collections.abc import Mapping
from typing import Final

from sqlfront_values.errors import NotSupportedError, ProgrammingError
from sqlfront_values.functions.json.typed.settings import JsonSettings, json_settings
from sqlfront_values.functions.rowwise import invalid_zone
from sqlfront_values.zones.names import zone_of

#: Options that change how texts are read, in lower case.
_READ: Final = frozenset(
    {
        *("mode", "columnnameofcorruptrecord", "primitivesasstring", "prefersdecimal", "infertimestamp"),
        *("dropfieldifallnull", "dateformat", "timestampformat", "timestampntzformat", "allowcomments"),
        *("allowunquotedfieldnames", "allowsinglequotes", "allownumericleadingzeros"),
        *("allownonnumericnumbers", "allowbackslashescapinganycharacter", "allowunquotedcontrolchars"),
    }
)
#: Options that must be true or false and have no effect on a single text.
_WITHOUT_EFFECT: Final = ("multiline", "ignorenullfields", "pretty")
_REFUSED: Final = (
    *("charset", "compression", "enabledatetimeparsingfallback", "encoding", "linesep", "samplingratio"),
    *("singlevariantcolumn", "timeformat", "useunsaferow", "writenonasciicharacterascodepoint"),
)
_LOCALES: Final = ("en-us", "en")
_TIME_ZONE: Final = "timezone"


def read_settings(options: Mapping[str, str]) -> JsonSettings:
    """Return the settings of ``from_json`` and ``schema_of_json``. Unknown options have no effect, as in
    Spark. Raises NotSupportedError, which names the option, for a known one that isn't supported, and
    ProgrammingError for an invalid value."""
    given = {key.lower(): value for key, value in options.items()}
    for name in _WITHOUT_EFFECT:
        if name in given and given[name].lower() not in ("true", "false"):
            raise ProgrammingError(f'For input string: "{given[name]}"')
    refused: list[str] = [name for name in _REFUSED if name in given]
    if given.get("locale", "en-US").lower() not in _LOCALES:
        refused.append("locale")
    if refused:
        raise NotSupportedError(f"The option {refused[0]} of from_json and schema_of_json is not supported.")
    return json_settings({name: value for name, value in given.items() if name in _READ})


def zone_of_options(options: Mapping[str, str], zone: str) -> str:
    """Return the time zone of the option timeZone; ``zone``, the session's, if it isn't given. Raises
    INVALID_TIMEZONE."""
    given = next((value for key, value in options.items() if key.lower() == _TIME_ZONE), None)
    if given is None:
        return zone
    try:
        zone_of(given)
    except ValueError:
        raise invalid_zone(given) from None
    return given
