"""The settings of JSON files: the options of a table, checked and typed."""

import codecs
from collections.abc import Mapping
from enum import Enum
from typing import Final

import msgspec

from sqlfront_values.errors import NotSupportedError, ProgrammingError
from sqlfront_values.functions.json.scanner import Liberties

#: Spark's defaults; None where Spark chooses.
_DEFAULTS: Final[dict[str, str | None]] = {
    "mode": "PERMISSIVE",
    "columnnameofcorruptrecord": "_corrupt_record",
    "multiline": "false",
    "encoding": None,
    "linesep": None,
    "samplingratio": "1.0",
    "primitivesasstring": "false",
    "prefersdecimal": "false",
    "infertimestamp": "false",
    "dropfieldifallnull": "false",
    "dateformat": None,
    "timestampformat": None,
    "timestampntzformat": None,
    "allowcomments": "false",
    "allowunquotedfieldnames": "false",
    "allowsinglequotes": "true",
    "allownumericleadingzeros": "false",
    "allownonnumericnumbers": "true",
    "allowbackslashescapinganycharacter": "false",
    "allowunquotedcontrolchars": "false",
}
#: The encodings that Spark knows.
_ENCODINGS: Final = frozenset(("iso-8859-1", "us-ascii", "utf-16", "utf-16be", "utf-16le", "utf-32", "utf-8"))
#: An option of every file table, without a meaning for readers.
_OF_WRITERS: Final = "overwriteforeignfiles"
_LIBERTIES: Final = {
    "comments": "allowcomments",
    "unquoted_names": "allowunquotedfieldnames",
    "single_quotes": "allowsinglequotes",
    "leading_zeros": "allownumericleadingzeros",
    "words_for_numbers": "allownonnumericnumbers",
    "any_escape": "allowbackslashescapinganycharacter",
    "control_characters": "allowunquotedcontrolchars",
}


class JsonMode(Enum):
    """The option ``mode``, the treatment of a malformed record: keep its readable fields, with null for the
    others (PERMISSIVE), leave the record out (DROPMALFORMED), or raise an error (FAILFAST)."""

    PERMISSIVE = "PERMISSIVE"
    """Keep the readable fields, set the rest to null; the record's text goes into the column of corrupt
    records, if any."""
    DROPMALFORMED = "DROPMALFORMED"
    """Leave the record out."""
    FAILFAST = "FAILFAST"
    """Raise an error."""


class JsonSettings(msgspec.Struct, frozen=True):
    """The checked options of ``USING json``, with Spark's defaults. ``corrupt_column``: the name of the
    column for the text of malformed records. ``separator``: lineSep in bytes, None = any usual line end.
    ``encoding``: in lower case, None = determined from the first bytes. ``liberties``: the deviations from
    standard JSON that the options allow. ``date_format`` and other formats: Spark's patterns, None = texts
    are read as Spark's casts read them."""

    mode: JsonMode = JsonMode.PERMISSIVE
    corrupt_column: str = "_corrupt_record"
    multi_line: bool = False
    encoding: str | None = None
    separator: bytes | None = None
    liberties: Liberties = Liberties()
    primitives_as_string: bool = False
    prefers_decimal: bool = False
    drop_nulls: bool = False
    infer_timestamp: bool = False
    sampling: float = 1.0
    """The fraction of the records that inference reads."""
    date_format: str | None = None
    timestamp_format: str | None = None
    timestamp_ntz_format: str | None = None

    @property
    def infers_specially(self) -> bool:
        """True if an option lets the inferred type depend on more than the kind of JSON value:
        primitivesAsString, prefersDecimal, dropFieldIfAllNull or inferTimestamp."""
        return self.primitives_as_string or self.prefers_decimal or self.drop_nulls or self.infer_timestamp


def json_settings(options: Mapping[str, str]) -> JsonSettings:
    """Return the settings of a table's options; the names of options are case-insensitive.

    >>> json_settings({"MODE": "failFast"}).mode
    <JsonMode.FAILFAST: 'FAILFAST'>

    Raises NotSupportedError for an unknown option or one that isn't supported, ProgrammingError for an
    invalid value.
    """
    given = {key.lower(): value for key, value in options.items()}
    if (charset := given.pop("charset", None)) is not None:
        given.setdefault("encoding", charset)
    given.pop(_OF_WRITERS, None)
    unknown = sorted(set(given) - set(_DEFAULTS))
    if unknown:
        raise NotSupportedError(f"option {unknown[0]} of USING json; known options: {', '.join(_DEFAULTS)}")
    multi_line = _flag(given, "multiline")
    separator = given.get("linesep")
    encoding = _encoding(given.get("encoding"), multi_line=multi_line, separator=separator)
    mode = _text(given, "mode").upper()
    return JsonSettings(
        # As in Spark, an unknown mode is the default.
        mode=JsonMode.__members__.get(mode, JsonMode.PERMISSIVE),
        corrupt_column=_text(given, "columnnameofcorruptrecord"),
        sampling=_number(given, "samplingratio"),
        multi_line=multi_line,
        encoding=encoding,
        separator=_separator(separator, encoding),
        liberties=Liberties(**{name: _flag(given, option) for name, option in _LIBERTIES.items()}),
        primitives_as_string=_flag(given, "primitivesasstring"),
        prefers_decimal=_flag(given, "prefersdecimal"),
        drop_nulls=_flag(given, "dropfieldifallnull"),
        infer_timestamp=_flag(given, "infertimestamp"),
        date_format=given.get("dateformat"),
        timestamp_format=given.get("timestampformat"),
        timestamp_ntz_format=given.get("timestampntzformat"),
    )


def _text(options: Mapping[str, str], name: str) -> str:
    value = options.get(name, _DEFAULTS[name])
    assert value is not None
    return value


def _flag(options: Mapping[str, str], name: str) -> bool:
    text = _text(options, name).lower()
    if text not in ("true", "false"):
        raise ProgrammingError(f"option {name} of USING json must be true or false, not {text!r}")
    return text == "true"


def _number(options: Mapping[str, str], name: str) -> float:
    text = _text(options, name)
    try:
        return float(text)
    except ValueError:
        raise ProgrammingError(f"option {name} of USING json must be a number, not {text!r}") from None


def _encoding(name: str | None, *, multi_line: bool, separator: str | None) -> str | None:
    """Check the value of the option encoding as Spark does, and return it in lower case; None if ``name`` is
    None. Raises ProgrammingError for an unknown encoding, and for an encoding that may only be used with
    multiLine or with lineSep."""
    if name is None:
        return None
    if name.lower() not in _ENCODINGS:
        known = ", ".join(sorted(_ENCODINGS))
        raise ProgrammingError(
            "The value of parameter(s) `charset` in `JSONOptionsInRead` is invalid: "
            f"expects one of the {known}, but got {name}.",
            condition="INVALID_PARAMETER_VALUE.CHARSET",
        )
    if not multi_line and name.lower() in ("utf-16", "utf-32"):
        raise ProgrammingError(
            f"The {name} encoding needs multiLine, since only the first bytes of a file tell the byte order"
        )
    if not multi_line and separator is None and name.lower() != "utf-8":
        raise ProgrammingError(f"The lineSep option must be specified for the {name} encoding")
    return name.lower()


def _separator(text: str | None, encoding: str | None) -> bytes | None:
    if text is None:
        return None
    if not text:
        raise ProgrammingError("'lineSep' cannot be an empty string.")
    name = codecs.lookup(encoding or "utf-8").name
    # Java writes UTF-16 and UTF-32 in big-endian order, UTF-16 with a byte order mark.
    forms = {"utf-16": "utf-16be", "utf-32": "utf-32be"}
    return text.encode(forms.get(name, name))
