"""The functions from_xml and schema_of_xml."""

import json
from itertools import islice
from typing import Final

import pyarrow as pa

from sqlfront_values.arrow.arrays import scalar
from sqlfront_values.arrow.forms import Datum
from sqlfront_values.functions import growth
from sqlfront_values.functions.json.typed.columns import column_of
from sqlfront_values.functions.json.typed.function_options import zone_of_options
from sqlfront_values.functions.registry import Kind, PreparedKernel, ScalarFunction, Signature, register
from sqlfront_values.functions.xml.typed.inference import XmlInference
from sqlfront_values.functions.xml.typed.markup import XmlSyntaxError
from sqlfront_values.functions.xml.typed.settings import XmlMode, XmlSettings, xml_settings
from sqlfront_values.functions.xml.typed.texts import malformed, text_reader
from sqlfront_values.room import check
from sqlfront_values.stacks import deep
from sqlfront_values.types import STRING, VOID, schema_text

#: Texts between two checks whether the query should stop.
_BETWEEN_CHECKS: Final = 256


def _options(signature: Signature, place: int) -> dict[str, str]:
    constants = signature.constants
    given = constants[place] if place < len(constants) else None
    options: dict[str, str] = {} if given is None else json.loads(given.as_py())
    return options


def _from_xml(signature: Signature) -> PreparedKernel:
    """Make the kernel of from_xml, whose arguments are those of from_json."""
    options = _options(signature, 2)
    kind = signature.type if len(signature.argument_types) < 4 else signature.argument_types[3]
    read = text_reader(kind, xml_settings(options), zone_of_options(options, signature.settings.time_zone))

    def column(texts: list[str | None]) -> pa.Array:
        values: list[object] = []
        waiting = iter(texts)
        while some := tuple(islice(waiting, _BETWEEN_CHECKS)):
            check()
            values += [None if text is None else read(text) for text in some]
        return column_of(values, kind)

    def kernel(arguments: tuple[Datum, ...], _length: int) -> Datum:
        texts = arguments[0]
        return column([texts.as_py()])[0] if isinstance(texts, pa.Scalar) else column(texts.to_pylist())

    return kernel


def _schema_of_xml(signature: Signature) -> PreparedKernel:
    """Make the kernel of schema_of_xml, whose arguments are a text and the options as a JSON object."""
    options = _options(signature, 1)
    settings = xml_settings(options)
    inference = XmlInference(settings, zone_of_options(options, "UTC"))

    def kernel(arguments: tuple[Datum, ...], _length: int) -> Datum:
        text = arguments[0].as_py()
        return scalar(None if text is None else _schema_of(text, inference, settings), STRING)

    return kernel


def _schema_of(text: str, inference: XmlInference, settings: XmlSettings) -> str:
    try:
        return deep(schema_text)(inference.type_of(text))
    except XmlSyntaxError:
        if settings.mode is XmlMode.FAILFAST:
            raise malformed(settings.corrupt_column) from None
        return schema_text(pa.struct([(settings.corrupt_column, STRING)]))


register(
    ScalarFunction(
        "from_xml",
        (STRING, STRING, STRING, Kind.ANY),
        VOID,
        prepare=_from_xml,
        optional=2,
        null_propagating=False,
        elementwise_values=False,
        can_fail=True,
        growth=growth.times(32),
        constants=(1, 2),
        example=("from_xml('<p><a>1</a><b>0.8</b></p>', 'a INT, b DOUBLE')", "{'a': 1, 'b': 0.8}"),
    ),
    ScalarFunction(
        "schema_of_xml",
        (STRING, STRING),
        STRING,
        prepare=_schema_of_xml,
        optional=1,
        can_fail=True,
        growth=growth.times(32),
        constants=(0, 1),
        example=("schema_of_xml('<p><a>1</a></p>')", "'STRUCT<a: BIGINT>'"),
    ),
)
