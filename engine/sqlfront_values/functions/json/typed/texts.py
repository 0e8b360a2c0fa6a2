"""Readers of single JSON texts into a value of a type, as ``from_json`` reads them."""

from collections.abc import Callable
from decimal import InvalidOperation
from typing import NoReturn

import pyarrow as pa

from sqlfront_values.errors import DataError
from sqlfront_values.functions.json.tokens import Token
from sqlfront_values.functions.json.typed.converters import Converters, PartialError, Row, UnfitError
from sqlfront_values.functions.json.typed.plain import Fits, OddTextError, scanned
from sqlfront_values.functions.json.typed.settings import JsonMode, JsonSettings
from sqlfront_values.functions.json.typed.text_tokens import TextTokens
from sqlfront_values.types import holds_variant, is_variant

#: A function that reads a text to a value, and whether the text is well-formed and all its parts fit. The
#: value is None if the text has none, or if no part of it is readable.
_Read = Callable[[str], tuple[object, bool]]


class ArraysAsStructsError(UnfitError):
    """The error of a JSON array where the type is a struct."""


def text_reader(kind: pa.DataType, settings: JsonSettings, zone: str) -> Callable[[str], object]:
    """Return a function that reads a JSON text as a value of the type ``kind``, a struct, an array or a map,
    in the form that :func:`~sqlfront_values.functions.json.typed.columns.column_of` takes.

    By the mode PERMISSIVE, parts that don't fit are null, and a struct has the text of a malformed record in
    its field of the name ``settings.corrupt_column``; by FAILFAST, the function raises
    MALFORMED_RECORD_IN_PARSING for a malformed text. ``zone``: the time zone of timestamps that state none.
    """
    if pa.types.is_struct(kind):
        return _struct_reader(kind, settings, zone)
    return _collection_reader(kind, settings, zone)


def _struct_reader(kind: pa.StructType, settings: JsonSettings, zone: str) -> Callable[[str], object]:
    corrupt = kind.get_field_index(settings.corrupt_column)
    data = pa.schema([field for place, field in enumerate(kind) if place != corrupt])
    quick = Fits(settings, zone).members(data)
    careful = Converters(settings, zone, exact_bytes=False, goes_on=True).members(data)
    fails_fast = settings.mode is JsonMode.FAILFAST
    scan = _scanner(kind)

    def quickly(text: str) -> tuple[Row, bool] | None:
        value = scan(text)
        if type(value) is list:
            raise ArraysAsStructsError
        if type(value) is not tuple:
            raise UnfitError
        return quick(value)

    def carefully(text: str) -> tuple[Row, bool] | None:
        tokens = TextTokens(text.encode(), settings.liberties)
        match tokens.advance():
            case None:
                return None
            case Token.START_OBJECT:
                return careful(tokens, False)
            case Token.START_ARRAY:
                raise ArraysAsStructsError
            case _:
                raise UnfitError

    def read(text: str) -> object:
        error: Exception | None = None
        row: Row = [None] * len(data)
        is_whole = False
        try:
            try:
                found = quickly(text)
            except OddTextError:
                found = carefully(text)
            if found is None:
                return None
            row, is_whole = found
        except (ValueError, InvalidOperation) as caught:
            error = caught
        if not is_whole and fails_fast:
            raise _malformed(text, error, len(kind))
        if corrupt >= 0:
            row.insert(corrupt, None if is_whole else text)
        return row

    return read


def _collection_reader(kind: pa.DataType, settings: JsonSettings, zone: str) -> Callable[[str], object]:
    quick = Fits(settings, zone).fit(kind)
    careful = Converters(settings, zone, exact_bytes=False, goes_on=True).converter(kind)
    element = kind.value_type if pa.types.is_list(kind) else None
    single = element if element is not None and pa.types.is_struct(element) else None
    quick_single = None if single is None else Fits(settings, zone).fit(single)
    careful_single = (
        None
        if single is None
        else Converters(settings, zone, exact_bytes=False, goes_on=True).converter(single)
    )
    fails_fast = settings.mode is JsonMode.FAILFAST
    scan = _scanner(kind)

    def quickly(text: str) -> object:
        value = scan(text)
        if value is None:
            raise UnfitError
        if quick_single is not None and type(value) is tuple:
            return _one_item(lambda: quick_single(value))
        return quick(value)

    def carefully(text: str) -> object:
        tokens = TextTokens(text.encode(), settings.liberties)
        token = tokens.advance()
        if token is None:
            return None
        if token is Token.NULL and not is_variant(kind):
            raise UnfitError
        if careful_single is not None and token is Token.START_OBJECT:
            return _one_item(lambda: careful_single(tokens))
        return careful(tokens)

    def read(text: str) -> object:
        try:
            try:
                return quickly(text)
            except OddTextError:
                return carefully(text)
        except PartialError as error:
            if fails_fast:
                raise _malformed(text, None, 1) from None
            return error.value
        except (ValueError, InvalidOperation) as error:
            if fails_fast:
                raise _malformed(text, error, 1) from None
            return None

    return read


def _scanner(kind: pa.DataType) -> Callable[[str], object]:
    """Return the function that reads texts quickly, for values of the type ``kind``. For variants it refuses
    all texts, since the quick reader loses the digits of numbers."""
    return _refuse_text if holds_variant(kind) else scanned


def _refuse_text(text: str) -> NoReturn:
    raise OddTextError


def _one_item(read: Callable[[], object]) -> object:
    """Return the array of the one struct that ``read`` gives; also in PartialError."""
    try:
        return [read()]
    except PartialError as error:
        raise PartialError([error.value]) from None


def _malformed(text: str, error: Exception | None, width: int) -> DataError:
    """Make Spark's error for a malformed text in mode FAILFAST."""
    advice = (
        "Parse Mode: FAILFAST. To process malformed records as null result, try setting the option 'mode' as "
        "'PERMISSIVE'."
    )
    if isinstance(error, ArraysAsStructsError):
        return DataError(
            f"Malformed records are detected in record parsing: {text}.\n{advice} Parsing JSON arrays as"
            " structs is forbidden.",
            condition="MALFORMED_RECORD_IN_PARSING.CANNOT_PARSE_JSON_ARRAYS_AS_STRUCTS",
        )
    row = ",".join(["null"] * width)
    return DataError(
        f"Malformed records are detected in record parsing: [{row}].\n{advice}",
        condition="MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION",
    )
