"""Functions that read variants: variant_get, is_variant_null, is_valid_variant, schema_of_variant, and the
entries that variant_explode makes rows of."""

from typing import Final

import numpy as np
import pyarrow as pa

from sqlfront_values.arrow.arrays import from_values, scalar
from sqlfront_values.arrow.forms import Datum, plain
from sqlfront_values.arrow.variant_rows import packed, parts
from sqlfront_values.columns.lists import put_together
from sqlfront_values.errors import DatabaseError, spark_error
from sqlfront_values.functions import growth
from sqlfront_values.functions.registry import (
    Invocation,
    PreparedKernel,
    ScalarFunction,
    Signature,
    register,
)
from sqlfront_values.functions.rowwise import columnar, row_kernel
from sqlfront_values.functions.variants.schemas import schema_of, schema_text
from sqlfront_values.types import BINARY, BOOLEAN, INT, STRING, VARIANT, physical
from sqlfront_values.variants.building import rebuilt
from sqlfront_values.variants.columns import FEW_ROWS, OddVariantsError, parts_of
from sqlfront_values.variants.paths import Path, at_path, parse_path
from sqlfront_values.variants.reading import Type, Variant, names_of, variant_of

#: The type of the entries of an object or array: the rows of variant_explode.
ENTRIES: Final = pa.list_(pa.struct([("pos", INT), ("key", STRING), ("value", VARIANT)]))


def invalid_path(path: str, function: str) -> DatabaseError:
    """Build Spark's error INVALID_VARIANT_GET_PATH for a path that ``function`` can't parse."""
    return spark_error(
        "INVALID_VARIANT_GET_PATH",
        f"The path `{path}` is not a valid variant extraction path in ``{function}``.\nA valid path should"
        " start with `$` and is followed by zero or more segments like `[123]`, `.name`, `['name']`, or"
        ' `["name"]`.',
    )


def _parsed(path: str) -> Path:
    steps = parse_path(path)
    if steps is None:
        raise invalid_path(path, "variant_get")
    return steps


def _part(row: bytes, path: str) -> bytes | None:
    found = at_path(variant_of(row), _parsed(path))
    return None if found is None else rebuilt(found)


def _variant_get(signature: Signature) -> PreparedKernel:
    """Make the kernel of variant_get, whose arguments are the variant and the path; a constant path is parsed
    once."""
    path = signature.constants[1]
    if path is None or not path.is_valid:
        by_row = row_kernel(_part)
        return lambda arguments, length: by_row(
            tuple(map(plain, arguments)),
            Invocation(VARIANT, signature.argument_types, length, signature.settings),
        )
    text = path.as_py()

    def kernel(arguments: tuple[Datum, ...], _length: int) -> Datum:
        rows = arguments[0]
        if isinstance(rows, pa.Scalar):
            return scalar(_part(rows.as_py(), text) if rows.is_valid else None, BINARY)
        if rows.null_count == len(rows):
            return rows
        return _at_all(rows, _parsed(text))

    return kernel


def _at_all(rows: pa.Array, steps: Path) -> pa.Array:
    """Return the parts at a path of the rows, as a column of variants."""
    if len(rows) >= FEW_ROWS:
        try:
            found = parts_of(rows).at_path(steps)
            if not found.are_nested().any():
                return found.plain_rows(len(rows))
        except OddVariantsError:
            pass
    return from_values([None if row is None else _at(row, steps) for row in rows.to_pylist()], BINARY)


def _at(row: bytes, steps: Path) -> bytes | None:
    found = at_path(variant_of(row), steps)
    return None if found is None else rebuilt(found)


def _is_variant_null(row: bytes | None) -> bool:
    return row is not None and variant_of(row).type is Type.NULL


def _is_valid(row: bytes) -> bool:
    try:
        value, metadata = parts(row)
        return Variant(value, names_of(metadata)).is_valid()
    except DatabaseError:
        return False


def _schema_of_variant(row: bytes) -> str:
    return schema_text(schema_of(variant_of(row)))


@columnar
def _entries(arguments: tuple[Datum, ...], invocation: Invocation) -> Datum:
    rows = arguments[0]
    assert isinstance(rows, pa.Array)
    positions: list[int] = []
    keys: list[str | None] = []
    values: list[bytes] = []
    counts: list[int] = []
    for row in rows.to_pylist():
        before = len(values)
        if row is not None:
            variant, metadata = variant_of(row), parts(row)[1]
            match variant.type:
                case Type.OBJECT:
                    for key, value in variant.fields():
                        keys.append(key)
                        values.append(packed(value.raw(), metadata))
                case Type.ARRAY:
                    values += [packed(value.raw(), metadata) for value in variant.elements()]
                    keys += [None] * (len(values) - before)
                case _:
                    pass
        counts.append(len(values) - before)
        positions += range(counts[-1])
    form = physical(ENTRIES)
    children = [from_values(positions, INT), from_values(keys, STRING), from_values(values, BINARY)]
    entries = pa.StructArray.from_arrays(children, fields=list(form.value_type))
    return put_together(form, entries, np.array(counts, np.int64))


register(
    ScalarFunction(
        "variant_get",
        (VARIANT, STRING),
        VARIANT,
        prepare=_variant_get,
        can_fail=True,
        example=("to_json(variant_get(parse_json('{\"a\":[1,2]}'), '$.a'))", "'[1,2]'"),
    ),
    ScalarFunction(
        "is_variant_null",
        (VARIANT,),
        BOOLEAN,
        row_kernel(_is_variant_null, null_aware=True),
        null_propagating=False,
        can_fail=True,
        example=("is_variant_null(parse_json('null'))", "True"),
    ),
    ScalarFunction(
        "is_valid_variant",
        (VARIANT,),
        BOOLEAN,
        row_kernel(_is_valid),
        example=("is_valid_variant(parse_json('[1]'))", "True"),
    ),
    ScalarFunction(
        "schema_of_variant",
        (VARIANT,),
        STRING,
        row_kernel(_schema_of_variant),
        can_fail=True,
        growth=growth.times(16),
        example=("schema_of_variant(parse_json('{\"a\":[1]}'))", "'OBJECT<a: ARRAY<BIGINT>>'"),
    ),
    ScalarFunction(
        "entries of a variant",
        (VARIANT,),
        ENTRIES,
        _entries,
        null_propagating=False,
        can_fail=True,
        growth=growth.times(64),
    ),
)
