"""The options of ``USING csv`` for reading and writing, with Spark's meaning."""

from collections.abc import Mapping
from enum import Enum
from typing import Final

import msgspec

from sqlfront_values.errors import NotSupportedError, ProgrammingError
from sqlfront_values.functions.csv.dialect import Dialect, QuoteHandling

_OPTIONS: Final = frozenset(
    {
        *("header", "sep", "quote", "escape", "nullvalue", "inferschema", "mode", "multiline", "encoding"),
        *("comment", "emptyvalue", "nanvalue", "positiveinf", "negativeinf", "columnnameofcorruptrecord"),
        *("dateformat", "timestampformat", "timestampntzformat", "ignoreleadingwhitespace", "linesep"),
        *("ignoretrailingwhitespace", "maxcolumns", "maxcharspercolumn", "enforceschema", "samplingratio"),
        *("chartoescapequoteescaping", "unescapedquotehandling", "preferdate"),
    }
)
#: An option of every file table, without a meaning for readers.
_OF_WRITERS: Final = "overwriteforeignfiles"
#: Synonyms of options; the option itself takes precedence.
_SYNONYMS: Final = {"delimiter": "sep", "charset": "encoding"}
#: The options as Spark's messages spell them.
_SPELLED: Final = {
    name.lower(): name
    for name in (
        *("enforceSchema", "ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace", "inferSchema"),
        *("maxCharsPerColumn", "maxColumns", "preferDate", "quoteAll"),
    )
}
#: The options that Spark has Scala read as true or false, with Scala's message.
_OF_SCALA: Final = ("multiline", "ignorecorruptfiles", "ignoremissingfiles")
_ENCODINGS: Final = ("iso-8859-1", "us-ascii", "utf-16", "utf-16be", "utf-16le", "utf-32", "utf-8")
_ESCAPED_SEPARATORS: Final = {"t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
#: The sampling ratio above which Spark's inference reads all rows (``CSVUtils.sample``).
_ALL_ROWS: Final = 0.99


class CsvMode(Enum):
    """The option ``mode``, the treatment of a malformed record: keep its readable fields, with null for the
    others (PERMISSIVE), leave the record out (DROP), or raise an error (FAIL)."""

    #: Keep the readable fields; null for the others.
    PERMISSIVE = "PERMISSIVE"
    #: Leave the record out.
    DROP = "DROPMALFORMED"
    #: Raise an error.
    FAIL = "FAILFAST"


class CsvSettings(msgspec.Struct, frozen=True):
    """The checked options of ``USING csv``, for reading and writing. ``infers``: inferSchema.
    ``several_lines``: multiLine, records may have several lines. ``checks_header``: True if enforceSchema is
    false. ``line_separator``: None = any of LF, CR and CR LF. ``encoding``: the name of a Python codec in
    lower case. ``corrupt``: the name of the column for the text of malformed records. ``date_format``,
    ``timestamp_format`` and ``ntz_format``: Spark's patterns; None = texts are read as Spark's casts read
    them."""

    dialect: Dialect
    header: bool
    infers: bool
    several_lines: bool
    mode: CsvMode
    encoding: str
    corrupt: str
    not_a_number: str
    infinity: str
    negative_infinity: str
    date_format: str | None
    timestamp_format: str | None
    ntz_format: str | None
    prefers_date: bool
    line_separator: str | None
    checks_header: bool


def csv_settings(options: Mapping[str, str]) -> CsvSettings:
    """Check the options of a table and return them as settings. Names of options may have any case. Raises
    NotSupportedError for unsupported options or values, ProgrammingError for values that Spark refuses.

    >>> csv_settings({"SEP": ";", "mode": "failfast"}).mode
    <CsvMode.FAIL: 'FAILFAST'>
    """
    given = _Given(options)
    several_lines = given.truth("multiline")
    infers = given.truth("inferschema")
    given.check_sample(infers=infers)
    line_separator = given.line_separator()
    if several_lines and line_separator not in (None, "\n"):
        raise NotSupportedError("CSV: multiLine with a lineSep other than a line feed")
    return CsvSettings(
        dialect=given.dialect(several_lines=several_lines, line_separator=line_separator),
        header=given.truth("header"),
        infers=infers,
        several_lines=several_lines,
        mode=given.mode(),
        encoding=given.encoding(),
        corrupt=given.text("columnnameofcorruptrecord", "_corrupt_record"),
        not_a_number=given.text("nanvalue", "NaN"),
        infinity=given.text("positiveinf", "Inf"),
        negative_infinity=given.text("negativeinf", "-Inf"),
        date_format=given.get("dateformat"),
        timestamp_format=given.get("timestampformat"),
        ntz_format=given.get("timestampntzformat"),
        prefers_date=given.truth("preferdate", default=True),
        line_separator=line_separator,
        checks_header=not given.truth("enforceschema", default=True),
    )


def check_truth(name: str, text: str) -> None:
    """Raise ProgrammingError with Spark's message if the value ``text`` of the option ``name``, in lower
    case, is neither true nor false."""
    if text.lower() in ("true", "false"):
        return
    if name in _OF_SCALA:
        raise ProgrammingError(f'For input string: "{text}"')
    raise ProgrammingError(
        f"{_SPELLED.get(name, name)} flag can be true or false", condition="_LEGACY_ERROR_TEMP_2147"
    )


class _Given:
    """The options of a table by name in lower case, where synonyms (``delimiter``, ``charset``) are replaced
    by the option's main name. Raises NotSupportedError for an unknown option."""

    def __init__(self, options: Mapping[str, str]) -> None:
        lower = {key.lower(): value for key, value in options.items()}
        synonyms = {known: lower[name] for name, known in _SYNONYMS.items() if name in lower}
        self._options = synonyms | {key: value for key, value in lower.items() if key not in _SYNONYMS}
        unknown = sorted(set(self._options) - _OPTIONS - {_OF_WRITERS})
        if unknown:
            raise NotSupportedError(
                f"option {unknown[0]} of USING csv; known options: {', '.join(sorted(_OPTIONS))}"
            )

    def get(self, name: str) -> str | None:
        return self._options.get(name)

    def text(self, name: str, default: str) -> str:
        return self._options.get(name, default)

    def truth(self, name: str, *, default: bool = False) -> bool:
        text = self._options.get(name)
        if text is None:
            return default
        check_truth(name, text)
        return text.lower() == "true"

    def number(self, name: str, default: int) -> int:
        text = self._options.get(name)
        if text is None:
            return default
        try:
            return int(text)
        except ValueError:
            raise ProgrammingError(f"{_SPELLED[name]} should be an integer. Found {text}.") from None

    def character(self, name: str, default: str) -> str:
        """Return the value of an option that is one character: ``default`` if the option isn't given, NUL if
        its value is empty. Raises ProgrammingError for more than one character."""
        text = self._options.get(name)
        if text is None:
            return default
        if len(text.encode("utf-16-le")) > 2:
            raise ProgrammingError(
                f"The value of {name} cannot be more than one character, but got {text}.",
                condition="OPTION_VALUE_EXCEEDS_ONE_CHARACTER",
            )
        return text or "\0"

    def dialect(self, *, several_lines: bool, line_separator: str | None) -> Dialect:
        quote, escape = self.character("quote", '"'), self.character("escape", "\\")
        beyond = self.character("chartoescapequoteescaping", "\0")
        handling = self.text("unescapedquotehandling", "STOP_AT_DELIMITER").upper()
        if handling not in QuoteHandling.__members__:
            raise ProgrammingError(
                f"unescapedQuoteHandling {handling}; known values: {', '.join(QuoteHandling.__members__)}"
            )
        if beyond == "\0" and quote != escape:
            beyond = escape
        comment = self.character("comment", "\0")
        max_columns = self.number("maxcolumns", 20480)
        if max_columns < 1:
            raise NotSupportedError(f"CSV: maxColumns {max_columns}")
        return Dialect(
            sep=self.separator(),
            quote=quote,
            escape=escape,
            escape_escape=beyond,
            comment="" if comment == "\0" else comment,
            ignore_leading=self.truth("ignoreleadingwhitespace"),
            ignore_trailing=self.truth("ignoretrailingwhitespace"),
            null_value=self.text("nullvalue", ""),
            empty_value=self.text("emptyvalue", ""),
            max_columns=max_columns,
            max_chars=self.number("maxcharspercolumn", -1),
            handling=QuoteHandling[handling],
            line_end="" if several_lines and line_separator is None else "\n",
        )

    def separator(self) -> str:
        """Return the separator of fields, one or more characters, with escapes such as ``\\t`` replaced.
        Raises ProgrammingError for an empty separator or an unknown escape."""
        text, found, at = self.text("sep", ","), "", 0
        if not text:
            raise ProgrammingError("Delimiter cannot be empty string")
        while at < len(text):
            if text[at] != "\\":
                found += text[at]
                at += 1
            elif text.startswith("\\u0000", at):
                found += "\0"
                at += 6
            elif text[at + 1 : at + 2] in _ESCAPED_SEPARATORS:
                found += _ESCAPED_SEPARATORS[text[at + 1]]
                at += 2
            else:
                raise ProgrammingError(f"Unsupported special character for delimiter: {text[at:]}")
        return found

    def mode(self) -> CsvMode:
        text = self.text("mode", "PERMISSIVE").upper()
        return next((mode for mode in CsvMode if mode.value == text), CsvMode.PERMISSIVE)

    def encoding(self) -> str:
        text = self.text("encoding", "utf-8").lower()
        if text not in _ENCODINGS:
            raise ProgrammingError(
                "The value of parameter(s) `charset` in `CSVOptions` is invalid: expects one of the"
                f" {', '.join(_ENCODINGS)}, but got {text}.",
                condition="INVALID_PARAMETER_VALUE.CHARSET",
            )
        return text

    def line_separator(self) -> str | None:
        text = self.get("linesep")
        if text is not None and not 0 < len(text) <= 2:
            raise ProgrammingError(
                f"'lineSep' has one or two characters, but got {text!r}.",
                condition=f"INVALID_LINE_SEPARATOR.{'TOO_LONG' if text else 'EMPTY'}",
            )
        return text

    def check_sample(self, *, infers: bool) -> None:
        text = self.get("samplingratio")
        if text is None or not infers:
            return
        try:
            share = float(text)
        except ValueError:
            raise ProgrammingError(f"samplingRatio should be a number. Found {text}.") from None
        if share <= 0:
            raise ProgrammingError(f"samplingRatio ({share}) should be greater than 0")
        if share <= _ALL_ROWS:
            raise NotSupportedError(f"CSV: inferSchema over a sample (samplingRatio {text})")
