"""Conversion of JSON tokens into values of a schema's types, as in Spark's JacksonParser.

A field that does not fit its type is null and makes its record malformed; the record's other fields keep
their values. After such a field Spark goes on with the token at which the conversion stopped, so that parts
of the field may be taken for fields of the record. To give the same result, this module consumes the same
tokens as Spark.

Python values: int for integers, dates (days) and timestamps (microseconds), Decimal, float, str, bytes,
tuples for structs, lists for arrays, lists of pairs for maps.
"""

from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Final

import pyarrow as pa

from sqlfront_values.arrow.arrays import from_values
from sqlfront_values.casts import compile_cast
from sqlfront_values.casts.parsing import parse_single
from sqlfront_values.errors import NotSupportedError
from sqlfront_values.functions.json.scanner import JsonSyntaxError
from sqlfront_values.functions.json.tokens import JsonTokens, Token
from sqlfront_values.functions.json.typed.inference import java_decimal
from sqlfront_values.functions.json.typed.moments import (
    Reader,
    date_reader,
    timestamp_ntz_reader,
    timestamp_reader,
)
from sqlfront_values.functions.json.typed.settings import JsonSettings
from sqlfront_values.functions.json.typed.variant_trees import variant_of_tokens
from sqlfront_values.functions.json.values import value_of, write_json
from sqlfront_values.java.surrogates import well_formed
from sqlfront_values.settings import Settings
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
    VOID,
    ddl,
    is_decimal,
    is_interval,
    is_time,
    is_variant,
    is_year_month,
)

Converter = Callable[[JsonTokens], object]
Row = list[object]

#: Java takes numbers up to 255 for a byte.
BOUNDS: Final = {TINYINT: (-(2**7), 2**8), SMALLINT: (-(2**15), 2**15), INT: (-(2**31), 2**31)}
LONG: Final = (-(2**63), 2**63)
#: The texts in quotes that are numbers.
WORDS: Final = {
    "NaN": float("nan"),
    "+INF": float("inf"),
    "+Infinity": float("inf"),
    "Infinity": float("inf"),
    "-INF": float("-inf"),
    "-Infinity": float("-inf"),
}
#: The largest power of ten of a decimal, since Java writes out all digits, which takes memory and time.
#: Larger powers are refused here, and by Java.
_MAX_POWER: Final = 10_000
_MAX_SCALE: Final = 2**31
_WIDE: Final = Context(prec=2 * _MAX_POWER, rounding=ROUND_HALF_UP, Emax=MAX_EMAX, Emin=MIN_EMIN)

#: The cases in which Spark's parser can't go back to a value's bytes.
_NOT_EXACT: Final = "with the option encoding, or with multiLine and compression"


class UnfitError(ValueError):
    """The error of a JSON value that doesn't fit the type of its field."""


class PartialError(ValueError):
    """The error of a nested value of which a part doesn't fit its type. ``value``: the nested value with None
    for that part."""

    def __init__(self, value: object) -> None:
        super().__init__()
        self.value = value


class Converters:
    """A maker of functions that convert JSON tokens into values of a type. ``zone``: the time zone of
    timestamps that state none. ``exact_bytes``: whether the tokens' bytes are the file's own, so that the
    text of a number or object in a STRING column can be copied from them. ``copies``: if the bytes aren't the
    file's own, True = such a text is written anew, as Jackson does; False = such a value raises
    NotSupportedError. ``goes_on``: whether the tokens behind broken JSON inside of a field are those that
    Spark finds; otherwise such JSON raises NotSupportedError. None = as ``exact_bytes``."""

    def __init__(
        self,
        settings: JsonSettings,
        zone: str,
        *,
        exact_bytes: bool,
        copies: bool = True,
        goes_on: bool | None = None,
    ) -> None:
        self._settings = settings
        self._zone = zone
        self._exact_bytes = exact_bytes
        self._copies = copies
        self._refuses = not (exact_bytes if goes_on is None else goes_on)

    def converter(self, kind: pa.DataType) -> Converter:
        """Return a function that converts the value at the current token into a value of the type ``kind``,
        None for null. The function raises ValueError for a value that doesn't fit. Raises NotSupportedError
        for a type that can't be read from JSON."""
        if pa.types.is_struct(kind):
            return _typed(self._struct(kind), Token.START_OBJECT)
        if pa.types.is_list(kind):
            return _typed(self._array(kind), Token.START_ARRAY)
        if pa.types.is_map(kind):
            return _typed(self._map(kind), Token.START_OBJECT)
        if kind == STRING:
            return self._string
        if is_variant(kind):
            return variant_of_tokens
        if kind == VOID:
            return lambda tokens: None
        return _typed_by(self._scalar(kind))

    def _scalar(self, kind: pa.DataType) -> dict[Token, Converter]:
        """Return the converters for a type that isn't nested, by the kind of token: a token without an entry
        doesn't fit the type. Raises NotSupportedError for a type that can't be read from JSON."""
        if kind == BOOLEAN:
            return {Token.TRUE: lambda tokens: True, Token.FALSE: lambda tokens: False}
        if kind in BOUNDS or kind == BIGINT:
            return {Token.INTEGER: _integer(kind)}
        if kind in (FLOAT, DOUBLE):
            number = _single if kind == FLOAT else JsonTokens.number
            return {Token.INTEGER: number, Token.FRACTION: number, Token.STRING: self._number_word}
        if is_decimal(kind):
            read = decimal_fitter(kind)
            return {
                Token.INTEGER: lambda tokens: read(Decimal(tokens.text())),
                Token.FRACTION: lambda tokens: read(_plain_number(tokens)),
                Token.STRING: lambda tokens: read(java_decimal(_filled(tokens))),
            }
        if kind == BINARY:
            return {Token.STRING: JsonTokens.base64}
        if kind == DATE:
            return {Token.STRING: _by(date_reader(self._settings))}
        if kind == TIMESTAMP:
            read_text = timestamp_reader(self._settings, self._zone)
            return {Token.STRING: _by(read_text), Token.INTEGER: _seconds}
        if kind == TIMESTAMP_NTZ:
            return {Token.STRING: _by(timestamp_ntz_reader(self._settings))}
        if is_interval(kind) or is_time(kind):
            read_own = amount_reader(kind)
            return {Token.STRING: lambda tokens: read_own(tokens.text())}
        raise NotSupportedError(f"{ddl(kind)} read from JSON")

    def _number_word(self, tokens: JsonTokens) -> float:
        if self._settings.liberties.words_for_numbers and (word := WORDS.get(tokens.text())) is not None:
            return word
        raise UnfitError

    def _string(self, tokens: JsonTokens) -> object:
        """Convert the value at the current token for a STRING column: the text of a string; for any other
        value the value's JSON text, as in the file or written anew; None for null."""
        token = tokens.token
        if token is Token.NAME:
            tokens.advance()
            return self._string(tokens)
        if token is None or token is Token.NULL:
            return None
        if token is Token.STRING:
            return well_formed(tokens.text())
        if not self._exact_bytes and not self._copies:
            raise NotSupportedError("a JSON value as text, with multiLine in UTF-16 or UTF-32 by its bytes")
        if not self._exact_bytes:
            return _copied(tokens)
        start = tokens.start
        tokens.skip_children()
        try:
            return tokens.since(start).decode()
        except UnicodeDecodeError:
            raise NotSupportedError("a JSON value as text that is not UTF-8") from None

    def _struct(self, kind: pa.StructType) -> Converter:
        read = self.members(kind)

        def struct(tokens: JsonTokens) -> object:
            row, is_whole = read(tokens, False)
            if not is_whole:
                raise PartialError(tuple(row))
            return tuple(row)

        return struct

    def members(self, kind: pa.StructType | pa.Schema) -> Callable[[JsonTokens, bool], tuple[Row, bool]]:
        """Return a function that reads the members of an object into a row with the fields of ``kind``; None
        for missing fields and for values that don't fit. The function's arguments are the tokens, and True if
        a duplicate key has to raise NotSupportedError (otherwise the last value that fits counts). It returns
        the row, and whether all values fitted."""
        names = {field.name: index for index, field in enumerate(kind)}
        converters = [self.converter(field.type) for field in kind]
        width = len(converters)
        refuse = self._refuses

        def read(tokens: JsonTokens, once: bool) -> tuple[Row, bool]:
            row: Row = [None] * width
            seen: set[int] = set()
            is_whole = True
            while tokens.advance() not in _OBJECT_ENDS:
                index = names.get(tokens.name)
                if index is None:
                    tokens.skip_children()
                    continue
                if once and index in seen:
                    raise NotSupportedError("a filter over JSON with a duplicate key")
                seen.add(index)
                try:
                    row[index] = converters[index](tokens)
                except PartialError as error:
                    row[index] = error.value
                    is_whole = False
                except (ValueError, InvalidOperation) as error:
                    if refuse and isinstance(error, JsonSyntaxError):
                        raise NotSupportedError(
                            "broken JSON with the option encoding, or multiLine and compression"
                        ) from None
                    is_whole = False
                    tokens.skip_children()
            return row, is_whole

        return read

    def _array(self, kind: pa.ListType) -> Converter:
        read = self.items(kind.value_type)

        def array(tokens: JsonTokens) -> object:
            values, is_whole = read(tokens)
            if not is_whole:
                raise PartialError(values)
            return values

        return array

    def items(self, kind: pa.DataType) -> Callable[[JsonTokens], tuple[list[object], bool]]:
        """Return a function that reads the items of an array, each of the type ``kind``. The function returns
        the items, and whether all their parts fitted (a part of a nested item that doesn't fit becomes None).
        The function raises ValueError for an item that as a whole doesn't fit ``kind``."""
        converter = self.converter(kind)

        def read(tokens: JsonTokens) -> tuple[list[object], bool]:
            values: list[object] = []
            is_whole = True
            while tokens.advance() not in _ARRAY_ENDS:
                try:
                    values.append(converter(tokens))
                except PartialError as error:
                    values.append(error.value)
                    is_whole = False
            return values, is_whole

        return read

    def _map(self, kind: pa.MapType) -> Converter:
        if kind.key_type != STRING:
            raise NotSupportedError(f"{ddl(kind)} read from JSON")
        converter = self.converter(kind.item_type)

        def pairs(tokens: JsonTokens) -> object:
            found: list[tuple[str, object]] = []
            is_whole = True
            bad: Exception | None = None
            while tokens.advance() not in _OBJECT_ENDS:
                name = tokens.name
                try:
                    found.append((_key(name), converter(tokens)))
                except PartialError as error:
                    found.append((_key(name), error.value))
                    is_whole = False
                except (ValueError, InvalidOperation) as error:
                    if self._refuses and isinstance(error, JsonSyntaxError):
                        raise NotSupportedError(
                            "broken JSON with the option encoding, or multiLine and compression"
                        ) from None
                    bad = bad or error
                    tokens.skip_children()
            if bad is not None:
                raise bad
            if not is_whole:
                raise PartialError(found)
            return found

        return pairs


_OBJECT_ENDS: Final = (Token.END_OBJECT, None)
_ARRAY_ENDS: Final = (Token.END_ARRAY, None)


def _copied(tokens: JsonTokens) -> str:
    """Return the JSON text of the current value as Jackson writes it, not as it is in the file, and advance
    to the value's last token. Raises NotSupportedError for a value that is nested too deeply."""
    try:
        return write_json(value_of(tokens))
    except RecursionError:
        raise NotSupportedError(f"a JSON value that is nested too deeply, as text, {_NOT_EXACT}") from None


def _key(name: str | None) -> str:
    """Return the name as the key of a map. Without a name the tokens are those behind a value that didn't
    fit, so that the whole map doesn't."""
    return "" if name is None else well_formed(name)


def _typed(converter: Converter, wanted: Token) -> Converter:
    return _typed_by({wanted: converter})


def _typed_by(converters: dict[Token, Converter]) -> Converter:
    """Return a converter that calls the converter for the kind of the current token. The returned converter
    skips a name before the value, returns None for null, and raises UnfitError if ``converters`` has no entry
    for the token."""

    def convert(tokens: JsonTokens) -> object:
        token = tokens.token
        while token is Token.NAME:
            token = tokens.advance()
        if token is None or token is Token.NULL:
            return None
        converter = converters.get(token)
        if converter is None:
            if token is Token.STRING:
                tokens.text()
            raise UnfitError
        return converter(tokens)

    return convert


def _filled(tokens: JsonTokens) -> str:
    """Return the text of the current string. Raises UnfitError for an empty string, which fits only the types
    string and binary."""
    text = tokens.text()
    if not text:
        raise UnfitError
    return text


def _by(read: Reader) -> Converter:
    return lambda tokens: read(_filled(tokens))


def _integer(kind: pa.DataType) -> Converter:
    low, high = BOUNDS.get(kind, LONG)
    is_byte = kind == TINYINT

    def integer(tokens: JsonTokens) -> int:
        value = int(tokens.text())
        if not low <= value < high:
            raise UnfitError
        return value - 256 if is_byte and value > 127 else value

    return integer


def _seconds(tokens: JsonTokens) -> int:
    """Return the current integer, a number of seconds, in microseconds; the result wraps around in 64 bits.
    Raises UnfitError for an integer beyond 64 bits."""
    value = int(tokens.text())
    if not LONG[0] <= value < LONG[1]:
        raise UnfitError
    return (value * 1_000_000 + 2**63) % 2**64 - 2**63


def _single(tokens: JsonTokens) -> float:
    """Return the current number as the nearest single-precision float; the integer ``-0`` is 0.0. A fraction
    is rounded once, directly from its text."""
    if tokens.is_special():
        return tokens.number()
    value = parse_single(tokens.text())
    return value + 0.0 if tokens.token is Token.INTEGER else value


def _plain_number(tokens: JsonTokens) -> Decimal:
    if tokens.is_special():
        raise UnfitError
    return Decimal(tokens.text())


def decimal_fitter(kind: pa.Decimal128Type) -> Callable[[Decimal], Decimal]:
    """Return a function that rounds a number half up to the scale of the type ``kind``. The function raises
    UnfitError for a number with more digits than the type, NotSupportedError for an extreme exponent."""
    unit, bound = Decimal(1).scaleb(-kind.scale), kind.precision - kind.scale

    def fitted(value: Decimal) -> Decimal:
        exponent, power = value.as_tuple().exponent, value.adjusted()
        assert isinstance(exponent, int)
        if not -_MAX_SCALE < exponent < _MAX_SCALE:
            raise UnfitError
        if not value or power < -kind.scale - 1:
            return unit * 0
        if power > _MAX_POWER:
            raise NotSupportedError(f"{value} read from JSON as {ddl(kind)}")
        rounded = value.quantize(unit, context=_WIDE)
        if rounded and rounded.adjusted() >= bound:
            raise UnfitError
        return rounded

    return fitted


def amount_reader(kind: pa.DataType) -> Reader:
    """Return a function that reads a text as an interval or a time of day of the type ``kind``, as CAST does,
    in months or microseconds, or in nanoseconds. The function raises UnfitError for another text."""
    cast = compile_cast(STRING, kind, safe=True, settings=Settings())

    def read(text: str) -> int:
        value = cast(from_values([text], STRING))
        if value.null_count:
            raise UnfitError
        amount = value.view(INT if is_year_month(kind) else BIGINT)[0].as_py()
        assert isinstance(amount, int)
        return amount

    return read
