"""Readers of single XML texts into a value of a type, as ``from_xml`` reads them."""

from collections.abc import Callable

import pyarrow as pa

from sqlfront_values.errors import DatabaseError, DataError, NotSupportedError
from sqlfront_values.functions.xml.typed.atoms import OddError
from sqlfront_values.functions.xml.typed.events import XmlEvents
from sqlfront_values.functions.xml.typed.records import PartialRecordError, Row, XmlConverters
from sqlfront_values.functions.xml.typed.settings import XmlMode, XmlSettings
from sqlfront_values.functions.xml.typed.shown_rows import shown_row
from sqlfront_values.functions.xml.typed.variants import variant_of_element
from sqlfront_values.types import is_variant
from sqlfront_values.variants.building import VariantSizeError, too_large


def text_reader(kind: pa.DataType, settings: XmlSettings, zone: str) -> Callable[[str], object]:
    """Return a function that reads an XML text as a value of the type ``kind``, a struct or a variant, in the
    form that :func:`~sqlfront_values.functions.json.typed.columns.column_of` takes.

    By the mode PERMISSIVE, parts that don't fit are null, and a struct has the text of a malformed record in
    its field of the name ``settings.corrupt_column``; by FAILFAST, the function raises
    MALFORMED_RECORD_IN_PARSING for a malformed text. ``zone``: the time zone of timestamps that state none.
    """
    return _variant_reader(settings) if is_variant(kind) else _struct_reader(kind, settings, zone)


def _variant_reader(settings: XmlSettings) -> Callable[[str], object]:
    fails_fast = settings.mode is XmlMode.FAILFAST

    def read(text: str) -> object:
        events = XmlEvents(text, settings)
        try:
            return variant_of_element(events, events.start(), settings)
        except VariantSizeError:
            raise too_large("from_xml") from None
        except ValueError:
            if fails_fast:
                raise malformed("[null]") from None
            return None

    return read


def _struct_reader(kind: pa.StructType, settings: XmlSettings, zone: str) -> Callable[[str], object]:
    corrupt = kind.get_field_index(settings.corrupt_column)
    record = XmlConverters(settings, zone).record(kind)
    fails_fast = settings.mode is XmlMode.FAILFAST

    def read(text: str) -> object:
        events = XmlEvents(text, settings)
        row: Row = [None] * kind.num_fields
        is_whole = False
        try:
            row = record(events, events.start())
            is_whole = True
        except PartialRecordError as error:
            row = error.row
        except OddError as error:
            raise error.failure from None
        except VariantSizeError:
            raise too_large("from_xml") from None
        except ValueError:
            pass
        if corrupt >= 0:
            row = _with_corrupt_text(row, kind, corrupt, None if is_whole else text)
        if not is_whole and fails_fast:
            raise malformed(shown_row(row, kind))
        return tuple(row)

    return read


def _with_corrupt_text(row: Row, kind: pa.StructType, place: int, text: str | None) -> Row:
    """Return the row with the text of a malformed record at the place of its field. As in Spark, that field
    takes part in reading, and the fields behind it then get the values of those before them. Raises
    NotSupportedError for a value that its new field's type doesn't fit, which breaks Spark."""
    moved = [*row[:place], text, *row[place:-1]]
    for at in range(place + 1, len(row)):
        if moved[at] is not None and kind.field(at).type != kind.field(at - 1).type:
            raise NotSupportedError(
                f"from_xml with the field {kind.field(place).name} before other fields, whose values Spark"
                " confuses"
            )
    return moved


def malformed(shown: str) -> DatabaseError:
    """Build Spark's error for a malformed text in mode FAILFAST. ``shown``: the record in the message."""
    return DataError(
        f"Malformed records are detected in record parsing: {shown}.\nParse Mode: FAILFAST. To process"
        " malformed records as null result, try setting the option 'mode' as 'PERMISSIVE'.",
        condition="MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION",
    )
