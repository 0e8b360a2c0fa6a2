"""The functions from_json and schema_of_json."""

import json

import pyarrow as pa

from sqlfront_values.arrow.arrays import from_values, scalar
from sqlfront_values.arrow.forms import Datum
from sqlfront_values.errors import DataError
from sqlfront_values.functions import growth
from sqlfront_values.functions.json.scanner import JsonSyntaxError
from sqlfront_values.functions.json.typed import many_texts
from sqlfront_values.functions.json.typed.function_options import read_settings, zone_of_options
from sqlfront_values.functions.json.typed.inference import Items, JsonInference, ObjectFields
from sqlfront_values.functions.json.typed.settings import JsonSettings
from sqlfront_values.functions.json.typed.text_tokens import TextTokens
from sqlfront_values.functions.json.typed.texts import text_reader
from sqlfront_values.functions.registry import Kind, PreparedKernel, ScalarFunction, Signature, register
from sqlfront_values.types import STRING, VOID, schema_text


def _from_json(signature: Signature) -> PreparedKernel:
    """Make the kernel of from_json. The arguments are the texts, the schema's text, which the type of the
    result stands for, and the options as a JSON object; if the type holds intervals, a null of the type
    follows, since the result's physical form doesn't tell the units of intervals."""
    options = _options(signature, 2)
    kind = signature.type if len(signature.argument_types) < 4 else signature.argument_types[3]
    settings, zone = read_settings(options), zone_of_options(options, signature.settings.time_zone)
    read = text_reader(kind, settings, zone)
    many = many_texts.ManyTexts(kind, settings, zone, read)

    def kernel(arguments: tuple[Datum, ...], _length: int) -> Datum:
        texts = arguments[0]
        if isinstance(texts, pa.Scalar):
            return many.column(from_values([texts.as_py()], STRING))[0]
        return many.column(texts)

    return kernel


def _schema_of_json(signature: Signature) -> PreparedKernel:
    """Make the kernel of schema_of_json, whose arguments are a text and the options as a JSON object."""
    settings = read_settings(_options(signature, 1))

    def kernel(arguments: tuple[Datum, ...], _length: int) -> Datum:
        text = arguments[0].as_py()
        return scalar(None if text is None else schema_text(_type_of(text, settings)), STRING)

    return kernel


def _type_of(text: str, settings: JsonSettings) -> pa.DataType:
    """Return the type of a JSON text, as the inference of ``USING json`` finds the types of values. Raises
    DataError for a text that is not JSON."""
    tokens = TextTokens(text.encode(), settings.liberties)
    inference = JsonInference(settings)
    try:
        tokens.advance()
        kind = inference.of_tokens(tokens)
    except JsonSyntaxError as error:
        raise DataError(f"schema_of_json of a text that is not JSON: {error}") from None
    match kind:
        case ObjectFields():
            return inference.settled(kind) or pa.struct([])
        case Items(ObjectFields() as item):
            return pa.list_(inference.settled(item) or pa.struct([]))
        case _:
            return inference.settled(kind) or STRING


def _options(signature: Signature, place: int) -> dict[str, str]:
    constants = signature.constants
    given = constants[place] if place < len(constants) else None
    options: dict[str, str] = {} if given is None else json.loads(given.as_py())
    return options


register(
    ScalarFunction(
        "from_json",
        (STRING, STRING, STRING, Kind.ANY),
        VOID,
        prepare=_from_json,
        optional=2,
        null_propagating=False,
        elementwise_values=False,
        can_fail=True,
        growth=growth.times(32),
        constants=(1, 2),
        example=("from_json('{\"a\":1}', 'a INT')", "{'a': 1}"),
    ),
    ScalarFunction(
        "schema_of_json",
        (STRING, STRING),
        STRING,
        prepare=_schema_of_json,
        optional=1,
        can_fail=True,
        growth=growth.times(32),
        constants=(0, 1),
        example=("schema_of_json('[{\"a\":1}]')", "'ARRAY<STRUCT<a: BIGINT>>'"),
    ),
)
