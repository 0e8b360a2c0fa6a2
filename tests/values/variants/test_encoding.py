"""Variants as bytes: round trips, hostile bytes, and agreement with PySpark's reader."""

import json
import random

import pyarrow as pa
import pytest
from pyspark.sql.types import VariantVal as SparkVariantVal

from sqlfront_values.arrow.exchange import VARIANT_STRUCT, exported, imported, is_variant_struct
from sqlfront_values.arrow.variant_rows import packed, parts
from sqlfront_values.errors import DatabaseError
from sqlfront_values.functions.json.typed.variant_trees import variant_of_text
from sqlfront_values.functions.variants.schemas import restored, schema_of, schema_text, stored
from sqlfront_values.types import VARIANT
from sqlfront_values.variants.building import rebuilt
from sqlfront_values.variants.paths import at_path, parse_path
from sqlfront_values.variants.python_values import python_value
from sqlfront_values.variants.reading import Variant, names_of, variant_of
from sqlfront_values.variants.texts import json_text

TEXTS = [
    "null",
    "true",
    "-129",
    "32768",
    "9223372036854775808",
    "1.50",
    "1e300",
    '""',
    '"é😀"',
    f'"{"x" * 64}"',
    "[]",
    "{}",
    f"[{','.join(map(str, range(300)))}]",
    '{"b":[1,{"z":null,"é":"x"}],"a":{"b":-0.5}}',
    json.dumps({f"k{number}": number for number in range(300)}),
]


@pytest.mark.parametrize("text", TEXTS)
def test_pyspark_reads_the_same_value(text: str) -> None:
    value, metadata = parts(variant_of_text(text))

    assert SparkVariantVal(value, metadata).toPython() == python_value(Variant(value, names_of(metadata)))


@pytest.mark.parametrize("text", TEXTS)
def test_a_part_built_anew_is_the_same(text: str) -> None:
    row = variant_of_text(text)

    assert json_text(variant_of(rebuilt(variant_of(row))), "UTC") == json_text(variant_of(row), "UTC")
    assert variant_of(row).is_valid()


@pytest.mark.parametrize("text", TEXTS)
def test_a_type_is_stored_as_text(text: str) -> None:
    kind = schema_of(variant_of(variant_of_text(text)))

    assert schema_text(restored(stored(kind))) == schema_text(kind)


def test_any_bytes_are_read_or_refused() -> None:
    source = random.Random(7)
    whole = variant_of_text(TEXTS[-2])
    for _ in range(3000):
        value, metadata = map(bytearray, parts(whole))
        for part in (value, metadata):
            for _ in range(source.randrange(3)):
                part[source.randrange(len(part))] = source.randrange(256)
            del part[source.randrange(len(part)) + 1 :]
        assert _condition(bytes(value), bytes(metadata)) in (
            None,
            "MALFORMED_VARIANT",
            "UNKNOWN_PRIMITIVE_TYPE_IN_VARIANT",
        )


def _condition(value: bytes, metadata: bytes) -> str | None:
    """The condition of the error that reading the variant raises; None without one."""
    try:
        variant = Variant(value, names_of(metadata))
        variant.is_valid()
        json_text(variant, "UTC")
    except DatabaseError as error:
        return error.condition
    return None


@pytest.mark.parametrize("row", [b"", b"\x01", b"\xff\xff\xff\xff"])
def test_bytes_that_are_no_row_are_refused(row: bytes) -> None:
    with pytest.raises(DatabaseError, match="MALFORMED_VARIANT"):
        parts(row)


def test_a_column_leaves_as_a_marked_struct_and_comes_back() -> None:
    rows = pa.array([variant_of_text('{"a":1}'), None, packed(b"\x00")], pa.binary())

    outside = exported(rows, VARIANT)

    assert is_variant_struct(outside.type)
    assert outside.type == VARIANT_STRUCT
    assert imported(outside, VARIANT).equals(rows)


def test_another_struct_of_two_binaries_is_no_variant() -> None:
    assert not is_variant_struct(pa.struct([("value", pa.binary()), ("metadata", pa.binary())]))


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("$", ()),
        ("$.a.b", ("a", "b")),
        ("$['a.b'][0]", ("a.b", 0)),
        ('$["it\'s"]', ("it's",)),
        ("$. a", (" a",)),
        ("$['']", ("",)),
        ("", None),
        ("a", None),
        ("$.", None),
        ("$[ 0]", None),
        ("$[-1]", None),
        ("$[2147483648]", None),
        ("$ ", None),
    ],
)
def test_paths(path: str, steps: tuple[str | int, ...] | None) -> None:
    assert parse_path(path) == steps


def test_a_field_is_found_among_many() -> None:
    variant = variant_of(variant_of_text(TEXTS[-1]))

    found = at_path(variant, ("k299",))

    assert found is not None
    assert found.integer() == 299
    assert at_path(variant, ("k300",)) is None
    assert at_path(variant, (0,)) is None
