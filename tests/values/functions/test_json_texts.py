"""Functions over JSON texts."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from sqlfront_values.functions.json.values import JsonError, parse_json, write_json
from sqlfront_values.types import BINARY, DOUBLE, FLOAT, INT, STRING, TIMESTAMP, TIMESTAMP_NTZ
from tests.values.functions.kernel_cases import Case, Table, Typed, cases, check

NESTED = '{"a":[{"b":[1,2]},{"b":[3]}]}'

TEXTS: Table = {
    "get_json_object": [
        ('{"a":{"b":1}}', "$.a.b", "1"),
        ('{"a":{"b": "x", "c" : [1, 2 ]}}', "$.a", '{"b":"x","c":[1,2]}'),
        ('{"a":{"b":"😀é"}}', "$.a", '{"b":"\\uD83D\\uDE00é"}'),
        ('{"a":"\\ud83d"}', "$", '{"a":"\\uD83D"}'),
        ('{"a":"\\ud83d"}', "$.a", None),
        ('{"a":[1,2,3]}', "$.a[1]", "2"),
        ('{"a":[1,2,3]}', "$.a[01]", "2"),
        ('{"a":[1,2,3]}', "$.a[*]", "[1,2,3]"),
        ('{"a":[1]}', "$.a[*]", "1"),
        ('{"a":["x"]}', "$.a[*]", '"x"'),
        ('{"a":["x"]}', "$.a", '["x"]'),
        ('{"a":[]}', "$.a[*]", None),
        ('{"a":[null,1]}', "$.a[*]", "[null,1]"),
        ('{"a":[null]}', "$.a[0]", "null"),
        ('{"a":"x"}', "$.a", "x"),
        ('{"a":null}', "$.a", None),
        ('{"a":{"x":null}}', "$.a", '{"x":null}'),
        ('{"a":1}', "$.b", None),
        ('{"a":1}', "$.A", None),
        ('[{"a":1},{"a":2}]', "$[*].a", "[1,2]"),
        ('[{"a":1},{"b":2}]', "$[*].a", "1"),
        ('[{"a":null},{"a":1}]', "$[*].a", "1"),
        ('{"a b":1}', "$['a b']", "1"),
        ('{"a.b":1}', "$['a.b']", "1"),
        ('{"a":1}', "$", '{"a":1}'),
        ("1", "$", "1"),
        ('"x"', "$", "x"),
        ('{"a":1}', "a", None),
        ('{"a":"b"}', '$["a"]', None),
        ('{"a":"b"}', "$.a ", None),
        ('{"a":1}', "$..a", None),
        ('{"a":{"b":1}}', "$.*", None),
        ('{"a":[1,2]}', "$.a[-1]", None),
        ("[1,2]", "$[5]", None),
        ('{"a":[{"b":1},{"b":2}]}', "$.a.b", None),
        ("[[1,2],[3,4]]", "$[*][1]", "[2,4]"),
        ("[[1,2],[3,4]]", "$[0][*]", "[1,2]"),
        ('{"a":[[1,2],[3]]}', "$.a[*][0]", "[1,3]"),
        ('{"a":[[1,2],[3]]}', "$.a[*][*]", "[1,2,3]"),
        ('{"a":[[{"b":1}]]}', "$.a[*][*].b", None),
        (NESTED, "$.a[*].b", "[[1,2],[3]]"),
        (NESTED, "$.a[*].b[*]", "[[1,2],[3]]"),
        (NESTED, "$.a[*].b[0]", "[1,3]"),
        ('{"a":1,"a":2}', "$.a", "1"),
        ('{"a":1.50}', "$.a", "1.5"),
        ('{"a":1e5}', "$.a", "100000.0"),
        ('{"a":123456789.123456789}', "$.a", "1.2345678912345679E8"),
        ('{"a":12345678901234567890123}', "$.a", "12345678901234567890123"),
        ('{"a":1E400}', "$.a", '"Infinity"'),
        ('{"a":-0}', "$.a", "0"),
        ('{"a":-0.0}', "$.a", "-0.0"),
        ('{"a":"é\\u00e9"}', "$.a", "éé"),
        ('{"a":"\\u0041\\n\\"\\\\\\/"}', "$.a", 'A\n"\\/'),
        ('{"a":{"b":"\\n\\"\\\\\\/é\\u0001"}}', "$.a", '{"b":"\\n\\"\\\\/é\\u0001"}'),
        ('{"a":"1\n2"}', "$.a", "1\n2"),
        ('{"a":1} x', "$.a", "1"),
        ("{'a':1}", "$.a", "1"),
        ('{"a":1, garbage', "$.a", None),
        ('{"a":{"b":1,"c":}}', "$.a", None),
        ("{a:1}", "$.a", None),
        ('{"a":01}', "$.a", None),
        ('{"a":NaN}', "$.a", None),
        ("", "$.a", None),
        (None, "$", None),
        ('{"a":1}', None, None),
    ],
    "json_array_length": [
        ("[1,2]", 2),
        (" [1 , 2] x", 2),
        ("[]", 0),
        ('[[],[1,2],{"a":[1,2,3]}]', 3),
        ("['a']", 1),
        ("[1,]", None),
        ("[1", None),
        ("[a]", None),
        ('{"a":1}', None),
        ("null", None),
        ("", None),
        (None, None),
    ],
    "json_object_keys": [
        ('{"a":{"b":1},"c":[1]}', ["a", "c"]),
        ('{"a":1,"a":2}', ["a", "a"]),
        ("{'a':1} x", ["a"]),
        ("{}", []),
        ("[1]", None),
        ('{"a":}', None),
        (None, None),
    ],
}


def struct(**fields: tuple[object, pa.DataType]) -> Typed:
    return Typed(
        {name: value for name, (value, _) in fields.items()},
        pa.struct([(name, kind) for name, (_, kind) in fields.items()]),
    )


WRITING = [
    (struct(a=(1, INT), b=("x", STRING), c=(None, INT)), '{"a":1,"b":"x"}'),
    (struct(a=([1, None], pa.list_(INT)), b=(None, pa.list_(INT))), '{"a":[1,null]}'),
    (
        struct(f=(1.5, DOUBLE), i=(float("nan"), DOUBLE), j=(1e20, DOUBLE), k=(1e-5, DOUBLE)),
        '{"f":1.5,"i":"NaN","j":1.0E20,"k":1.0E-5}',
    ),
    (
        struct(l=(1.100000023841858, FLOAT), g=(Decimal("1.50"), pa.decimal128(3, 2)), h=(True, pa.bool_())),
        '{"l":1.1,"g":1.50,"h":true}',
    ),
    (struct(t=(datetime(2020, 1, 1, 12, tzinfo=UTC), TIMESTAMP)), '{"t":"2020-01-01T12:00:00.000Z"}'),
    (struct(n=(datetime(2020, 1, 1, 12, 0, 0, 500_000), TIMESTAMP_NTZ)), '{"n":"2020-01-01T12:00:00.500"}'),
    (struct(d=(date(2020, 1, 1), pa.date32()), b=(b"ab", BINARY)), '{"d":"2020-01-01","b":"YWI="}'),
    (struct(s=('a"b\\c\n\t/é😀\u0001', STRING)), '{"s":"a\\"b\\\\c\\n\\t/é😀\\u0001"}'),
    (Typed([("k", None)], pa.map_(STRING, INT)), '{"k":null}'),
    (struct(x=({"y": None}, pa.struct([("y", INT)]))), '{"x":{}}'),
    (Typed([], pa.list_(INT)), "[]"),
]


@pytest.mark.parametrize("case", cases(TEXTS), ids=str)
def test_json_texts(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("value, text", WRITING)
def test_to_json(value: Typed, text: str) -> None:
    check(Case("to_json", (value,), text))


@pytest.mark.parametrize("text", ['{"a"', '"\\x"', "tru", "1x", "[1 2]", "{'a' 1}", "-", "'"])
def test_what_is_no_json_is_refused(text: str) -> None:
    with pytest.raises(JsonError):
        parse_json(text)


def test_escaped_surrogates_become_characters() -> None:
    assert parse_json('"\\ud83d\\ude00 \\ud83d"') == "😀 \ud83d"
    assert write_json("😀") == r'"\uD83D\uDE00"'


@pytest.mark.parametrize(
    ("text", "value"), [(r"{'a':'x\'y'}", '{"a":"x\'y"}'), ("true]", "true"), ("null,", "null"), ("1,", None)]
)
def test_json_with_jacksons_liberties(text: str, value: str | None) -> None:
    try:
        parsed: str | None = write_json(parse_json(text))
    except JsonError:
        parsed = None
    assert parsed == value
