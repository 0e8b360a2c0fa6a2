"""Functions that make variants: parse_json, try_parse_json, to_variant_object."""

from collections.abc import Callable

import pyarrow as pa

from sqlfront_values.arrow.forms import Datum
from sqlfront_values.casts.variants import to_variant
from sqlfront_values.errors import DatabaseError, spark_error
from sqlfront_values.functions import growth
from sqlfront_values.functions.json.typed.variant_trees import variant_of_text
from sqlfront_values.functions.registry import Invocation, Kind, ScalarFunction, register
from sqlfront_values.functions.rowwise import columnar, row_kernel
from sqlfront_values.types import STRING, VARIANT
from sqlfront_values.variants import building


def malformed_json(text: str) -> DatabaseError:
    """Build Spark's error for a text that is not JSON, or has an object with two fields of one name."""
    return spark_error(
        "MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION",
        f"Malformed records are detected in record parsing: {text}.\nParse Mode: FAILFAST. To process"
        " malformed records as null result, try setting the option 'mode' as 'PERMISSIVE'. ",
    )


def _parse_json(text: str) -> bytes:
    try:
        return variant_of_text(text)
    except building.VariantSizeError:
        raise building.too_large("parse_json") from None
    except ValueError:
        raise malformed_json(text) from None


def _try_parse_json(text: str) -> bytes | None:
    try:
        return variant_of_text(text)
    except ValueError:
        return None


@columnar
def _to_variant_object(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    values = arguments[0]
    assert isinstance(values, pa.Array)
    return to_variant(invocation.argument_types[0])(values)


def _parser(name: str, parse: Callable[[str], bytes | None], *, can_fail: bool) -> ScalarFunction:
    return ScalarFunction(
        name,
        (STRING,),
        VARIANT,
        row_kernel(parse),
        exact=(0,),
        can_fail=can_fail,
        growth=growth.times(4),
        example=(f'to_json({name}(\'{{"b":[1,null],"a":1.50}}\'))', '\'{"a":1.5,"b":[1,null]}\''),
    )


register(
    _parser("parse_json", _parse_json, can_fail=True),
    _parser("try_parse_json", _try_parse_json, can_fail=False),
    ScalarFunction(
        "to_variant_object",
        (Kind.ANY,),
        VARIANT,
        _to_variant_object,
        can_fail=True,
        growth=growth.times(4),
        example=("to_json(to_variant_object(named_struct('b', 1, 'a', array(2))))", '\'{"a":[2],"b":1}\''),
    ),
)
