"""The options of the functions over CSV texts, given as ``map('key', 'value', ...)``."""

from collections.abc import Mapping
from typing import Final

import msgspec

from sqlfront_values.errors import NotSupportedError
from sqlfront_values.functions.csv.settings import CsvSettings, check_truth, csv_settings

#: The line end that Spark sets for these functions: a character that is in no text, as a rule.
LINE_END: Final = "\uffff"
_KNOWN: Final = frozenset(
    {
        *("sep", "delimiter", "quote", "escape", "nullvalue", "mode", "comment", "emptyvalue", "nanvalue"),
        *("positiveinf", "negativeinf", "columnnameofcorruptrecord", "dateformat", "timestampformat"),
        *("timestampntzformat", "ignoreleadingwhitespace", "ignoretrailingwhitespace", "maxcolumns"),
        *("maxcharspercolumn", "chartoescapequoteescaping", "unescapedquotehandling", "preferdate"),
    }
)
#: Options that must be true or false and have no effect on the reading of a single text.
_WITHOUT_EFFECT: Final = (
    *("multiline", "header", "inferschema", "enforceschema", "quoteall"),
    *("ignorecorruptfiles", "ignoremissingfiles"),
)
_REFUSED: Final = (
    *("charset", "columnpruning", "compression", "enabledatetimeparsingfallback", "encoding", "escapequotes"),
    *("inputbuffersize", "samplingratio", "singlevariantcolumn", "timeformat"),
)
_LOCALES: Final = ("en-us", "en")


def function_settings(options: Mapping[str, str]) -> CsvSettings:
    """Return the settings of from_csv, to_csv and schema_of_csv. Unknown options have no effect, as in Spark.
    Raises NotSupportedError, which names the option, for a known one that isn't supported, and
    ProgrammingError for an invalid value."""
    given = {key.lower(): value for key, value in options.items()}
    for name in _WITHOUT_EFFECT:
        if name in given:
            check_truth(name, given[name])
    refused: list[str] = [name for name in _REFUSED if name in given]
    if given.get("locale", "en-US").lower() not in _LOCALES:
        refused.append("locale")
    if refused:
        raise NotSupportedError(f"The option {refused[0]} of functions over CSV texts is not supported.")
    settings = csv_settings({name: value for name, value in given.items() if name in _KNOWN})
    dialect = msgspec.structs.replace(settings.dialect, line_end=LINE_END, newline=LINE_END)
    return msgspec.structs.replace(settings, dialect=dialect)


def check_readable(settings: CsvSettings) -> None:
    """Raise NotSupportedError for options with which Spark reads the first text of a task differently."""
    if settings.dialect.ignore_trailing and not settings.dialect.ignore_leading:
        raise NotSupportedError(
            "The option ignoreTrailingWhiteSpace without ignoreLeadingWhiteSpace is not supported in"
            " functions over CSV texts."
        )
