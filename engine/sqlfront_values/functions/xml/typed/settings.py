"""The options of the functions over XML texts, given as ``map('key', 'value', ...)``."""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Final

import msgspec

from sqlfront_values.errors import DataError, NotSupportedError, ProgrammingError, spark_error

_LOCALES: Final = ("en-us", "en")
#: Options that aren't built, in lower case.
_UNBUILT: Final = ("rowvalidationxsdpath", "singlevariantcolumn", "timeformat")
#: The codecs that Spark knows; compression has no effect on a single text.
_CODECS: Final = ("bzip2", "deflate", "uncompressed", "snappy", "none", "lz4", "gzip")
#: Options that must be true or false, in lower case; the name that Spark shows, None where Java parses the
#: text.
_FLAGS: Final = {
    "excludeattribute": "excludeAttribute",
    "ignoresurroundingspaces": "ignoreSurroundingSpaces",
    "inferschema": "inferSchema",
    "ignorenamespace": "ignoreNamespace",
    "preferdate": "preferDate",
    "validatename": "validateName",
    "prefersdecimal": None,
    "multiline": None,
    "uselegacyxmlparser": None,
}
_DATES: Final = "yyyy-MM-dd"


class XmlMode(Enum):
    """The option ``mode``, the treatment of a malformed record."""

    PERMISSIVE = "PERMISSIVE"
    """Keep the fields that Spark read before it met the error."""
    DROPMALFORMED = "DROPMALFORMED"
    """Leave the record out, which the functions over single texts refuse."""
    FAILFAST = "FAILFAST"
    """Raise an error."""


class XmlSettings(msgspec.Struct, frozen=True):
    """The checked options, with Spark's defaults. ``corrupt_column``: the name of the field for the texts of
    malformed records. ``attribute_prefix``: what the names of fields of attributes begin with. ``value_tag``:
    the name of the field of an element's own text. ``null_value``: the text that stands for null; None = no
    text does. ``wildcard``: the name of the field for elements that the schema doesn't name.
    ``date_format`` and other formats: Spark's patterns, None = texts are read as Spark's casts read them."""

    mode: XmlMode = XmlMode.PERMISSIVE
    corrupt_column: str = "_corrupt_record"
    attribute_prefix: str = "_"
    value_tag: str = "_VALUE"
    null_value: str | None = None
    wildcard: str = "xs_any"
    with_attributes: bool = True
    """False = the option excludeAttribute: attributes are ignored."""
    trims: bool = True
    """The option ignoreSurroundingSpaces."""
    without_prefixes: bool = False
    """The option ignoreNamespace: names lose everything up to their last colon."""
    infers: bool = True
    prefers_decimal: bool = False
    prefers_date: bool = True
    date_format: str | None = _DATES
    timestamp_format: str | None = None
    timestamp_ntz_format: str | None = None

    def field_name(self, name: str) -> str:
        """Return the name of the field for an element or, behind the prefix, an attribute."""
        return name.rstrip(":").rpartition(":")[2] if self.without_prefixes else name


def xml_settings(options: Mapping[str, str]) -> XmlSettings:
    """Return the settings of ``from_xml`` and ``schema_of_xml``. The names of options are case-insensitive;
    unknown options have no effect, as in Spark. Raises NotSupportedError, which names the option, for a known
    one that isn't supported, and DataError or ProgrammingError for an invalid value.

    >>> xml_settings({"MODE": "failFast", "attributePrefix": "@"}).attribute_prefix
    '@'
    """
    given = {key.lower(): value for key, value in options.items()}
    for name in _UNBUILT:
        if name in given:
            raise NotSupportedError(f"The option {name} of from_xml and schema_of_xml is not supported.")
    if given.get("locale", "en-US").lower() not in _LOCALES:
        raise NotSupportedError("The option locale of from_xml and schema_of_xml is not supported.")
    _check_codec(given.get("compression", given.get("codec", "none")))
    _check_tags(given)
    _check_sampling(given.get("samplingratio", "1.0"))
    flags = {name: _flag(given[name], shown) for name, shown in _FLAGS.items() if name in given}
    prefers_date = flags.get("preferdate", True)
    return XmlSettings(
        # As in Spark, an unknown mode is the default.
        mode=XmlMode.__members__.get(given.get("mode", "").upper(), XmlMode.PERMISSIVE),
        corrupt_column=given.get("columnnameofcorruptrecord", "_corrupt_record"),
        attribute_prefix=given.get("attributeprefix", "_"),
        value_tag=given.get("valuetag", "_VALUE"),
        null_value=given.get("nullvalue"),
        wildcard=given.get("wildcardcolname", "xs_any"),
        with_attributes=not flags.get("excludeattribute", False),
        trims=flags.get("ignoresurroundingspaces", True),
        without_prefixes=flags.get("ignorenamespace", False),
        infers=flags.get("inferschema", True),
        prefers_decimal=flags.get("prefersdecimal", False),
        prefers_date=prefers_date,
        date_format=given.get("dateformat", _DATES if prefers_date else None),
        timestamp_format=given.get("timestampformat"),
        timestamp_ntz_format=given.get("timestampntzformat"),
    )


def _flag(text: str, shown: str | None) -> bool:
    if text.lower() not in ("true", "false"):
        raise ProgrammingError(
            f'For input string: "{text}"' if shown is None else f"{shown} flag can be true or false."
        )
    return text.lower() == "true"


def _check_codec(name: str) -> None:
    if name.lower() not in _CODECS:
        raise spark_error(
            "CODEC_NOT_AVAILABLE.WITH_AVAILABLE_CODECS_SUGGESTION",
            f"The codec {name} is not available. Available codecs are {', '.join(_CODECS)}.",
        )


def _check_tags(given: Mapping[str, str]) -> None:
    row_tag, value_tag = given.get("rowtag", "ROW"), given.get("valuetag", "_VALUE")
    _require(bool(row_tag), "'rowTag' option should not be an empty string.")
    for name, value in (
        ("rowTag", row_tag),
        ("rootTag", given.get("roottag", "ROWS")),
        ("declaration", given.get("declaration", "")),
    ):
        _require(not value.startswith("<") and not value.endswith(">"), _BRACKETS(name))
    _require(bool(value_tag), "'valueTag' option should not be empty string.")
    _require(
        value_tag != given.get("attributeprefix", "_"),
        "'valueTag' and 'attributePrefix' options should not be the same.",
    )


_BRACKETS: Final[Callable[[str], str]] = "'{}' should not include angle brackets".format


def _check_sampling(text: str) -> None:
    try:
        share = float(text)
    except ValueError:
        raise ProgrammingError(f'For input string: "{text}"') from None
    _require(share > 0, f"samplingRatio ({share}) should be greater than 0")


def _require(condition: bool, text: str) -> None:
    if not condition:
        raise DataError(f"requirement failed: {text}")
