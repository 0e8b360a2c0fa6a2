"""Random queries of from_json, from_csv and to_csv: texts that are valid, nearly valid or hostile, and
schemas that they fit in part."""

from random import Random
from typing import Final

_ATOMS: Final = (
    *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(5,2)", "DECIMAL(38,10)"),
    *("STRING", "STRING", "BINARY", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ"),
)
_NAMES: Final = ("a", "b", "c", "A")
_CORRUPT: Final = "_corrupt_record STRING"
#: Texts of JSON values. The last ones are broken in such a way that a reader may go on behind the error.
_JSON_VALUES: Final = (
    *("1", "0", "-0", "-1", "127", "128", "255", "256", "32768", "2147483648", "-9223372036854775809"),
    *("12345678901234567890123", "1.5", "-0.0", "1e3", "1E400", "1.0E-5", "123.456", "0.1234567890123456789"),
    *(
        "100000.00",
        "true",
        "false",
        "null",
        "NaN",
        "-Infinity",
        "Infinity",
        "+Infinity",
        "+INF",
        "-INF",
        "01",
    ),
    *("1.", "tru", ".5", "-", "1e", "0x1", '""', '"x"', '"1"', '"1.5"', '"NaN"', '"Infinity"', '"-INF"'),
    *('"2020-01-02"', '"2020-1-2"', '"2020-01-02T03:04:05"', '"2020-01-02 03:04:05.123456+01:00"'),
    *(
        '"2020-13-01"',
        '"18262"',
        '"1,234.5"',
        '"YWJj"',
        '"YWJ"',
        '"YQ=="',
        '"é😀"',
        '"\\u00e9\\ud83d\\ude00"',
    ),
    *('"\\ud83d"', '"\\n\\t\\/\\b"', '"\\x"', '"a\\u12"', '"a\nb"', '"a\tb"', "'q'", '"true"', '" 1 "'),
    *('"\\u0000"', '"it\'s"', '"\x7f"', '"a\n,"b":2', '"\\x,"b":"q', '"\\ud8 ","c":1', '["a\n,"b":2]'),
    *('{"a":"\\z"b":1', 'tru,"b":3', '"YW\n,"a":5', '"Y\\x==","a":5', 'nul "b":1,"c":2', '[1,"x",{"b":7}]'),
    *('[[tru],"b":1', '-,"b":3', '1.,"b":3', '01,"b":3', '.5,"b":4'),
)
_JSON_OPTIONS: Final = (
    *("allowSingleQuotes=false", "allowUnquotedFieldNames=true", "allowNumericLeadingZeros=true"),
    *("allowNonNumericNumbers=false", "allowComments=true", "allowBackslashEscapingAnyCharacter=true"),
    *("allowUnquotedControlChars=true", "primitivesAsString=true", "prefersDecimal=true"),
)
_ODD_CHARACTERS: Final = "{}[]\",:\\ \n'/*#0eE.-+x\x01"
_CSV_FIELDS: Final = (
    *("1", "-1", "+1", " 1", "1 ", "1.5", "1e3", "NaN", "Inf", "-Inf", "Infinity", "true", "FALSE", "128"),
    *("40000", "3000000000", "99999999999999999999", "0.005", "999.995", "1.5f", "", "", "x", '"x"', '"a,b"'),
    *(
        '"a""b"',
        '"a\\"b"',
        '"a"b',
        'a"b',
        '"a',
        "a\\",
        "\\",
        '""',
        "''",
        "#x",
        "é😀",
        "2020-01-02",
        "2020-1-2",
    ),
    *("2020-01-02 03:04:05", "2020-01-02T03:04:05.123Z", "2020-01-02T03:04:05+01:00", "10", "N", "a\nb"),
    *('"a\nb"', "\t", "a\r\n", "1,5", "null", "18000", '" a "', ' "a"', '"a" '),
)
_CSV_OPTIONS: Final = (
    *("sep=;", "sep=|", "quote='", 'escape="', "nullValue=N", "emptyValue=E", "nanValue=N", "comment=#"),
    *("ignoreLeadingWhiteSpace=true", "unescapedQuoteHandling=STOP_AT_CLOSING_QUOTE"),
    *("unescapedQuoteHandling=SKIP_VALUE", "unescapedQuoteHandling=BACK_TO_DELIMITER"),
    *("charToEscapeQuoteEscaping=x", "positiveInf=Infinity", "dateFormat=yyyy-M-d"),
)
_ROWS: Final = 25


def from_json(seed: str) -> str:
    """A query of from_json over some texts, with columns ``i`` (the row's number), ``v`` (the text) and
    ``x``."""
    random = Random(seed)
    schema, options = _literal(_schema(random)), _options(random, _JSON_OPTIONS, 0.3)
    texts = [_json_text(random) for _ in range(_ROWS)]
    return f"SELECT i, v, from_json(v, {schema}{options[0]}) AS x FROM {_rows(texts)}"


def from_csv(seed: str) -> str:
    """A query of from_csv, with columns as :func:`from_json`."""
    random = Random(seed)
    options, given = _options(random, _CSV_OPTIONS, 0.5)
    width = random.randint(1, 4)
    columns = [f"c{place} {random.choice(_ATOMS)}" for place in range(width)]
    if random.random() < 0.4:
        columns.insert(random.randint(0, width), _CORRUPT)
    texts = [
        given.get("sep", ",").join(
            random.choice(_CSV_FIELDS)
            for _ in range(width if random.random() < 0.8 else random.randint(0, 5))
        )
        for _ in range(_ROWS)
    ]
    return f"SELECT i, v, from_csv(v, {_literal(', '.join(columns))}{options}) AS x FROM {_rows(texts)}"


def to_csv(seed: str) -> str:
    """A query of to_csv over structs with texts of CSV fields, with columns as :func:`from_json`."""
    random = Random(seed)
    options, _ = _options(random, _CSV_OPTIONS, 0.5)
    rows = [
        ", ".join(
            (
                str(number),
                *(random.choice(("NULL", *map(_literal, random.choices(_CSV_FIELDS, k=4)))) for _ in "ab"),
                random.choice(("NULL", "1.5D", "-0.0D")),
                random.choice(("NULL", "true")),
            )
        )
        for number in range(_ROWS)
    ]
    struct = (
        "named_struct('a', a, 'b', b, 'c', c, 'd', d, 'e', array(a, b), 'f', map('k', b), 'g', struct(a, c),"
        " 'h', DATE'2020-01-02')"
    )
    values = ", ".join(f"({row})" for row in rows)
    return (
        f"SELECT i, concat_ws('~', a, b) AS v, to_csv({struct}{options}) AS x FROM VALUES {values} AS"
        " t(i, a, b, c, d)"
    )


# ---- parts


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _rows(texts: list[str]) -> str:
    rows = ", ".join(f"({number}, {_literal(text)})" for number, text in enumerate(texts))
    return f"VALUES {rows} AS t(i, v)"


def _options(random: Random, known: tuple[str, ...], share: float) -> tuple[str, dict[str, str]]:
    """The text of the argument for options, and the options; empty for ``1 - share`` of the calls."""
    if random.random() >= share:
        return "", {}
    given = dict(option.split("=", 1) for option in random.sample(known, random.randint(1, 2)))
    pairs = ", ".join(f"{_literal(key)}, {_literal(value)}" for key, value in given.items())
    return f", map({pairs})", given


def _schema(random: Random) -> str:
    draw = random.random()
    if draw < 0.12:
        return f"ARRAY<{_kind(random, 1)}>"
    if draw < 0.2:
        return f"MAP<STRING, {_kind(random, 1)}>"
    columns = [f"{name} {_kind(random, 0)}" for name in random.sample(_NAMES, random.randint(1, len(_NAMES)))]
    if random.random() < 0.3:
        columns.insert(random.randint(0, len(columns)), _CORRUPT)
    return ", ".join(columns)


def _kind(random: Random, depth: int) -> str:
    draw = random.random()
    if depth > 2 or draw < 0.55:
        return random.choice(_ATOMS)
    if draw < 0.7:
        return f"ARRAY<{_kind(random, depth + 1)}>"
    if draw < 0.8:
        return f"MAP<STRING, {_kind(random, depth + 1)}>"
    fields = (f"{name}: {_kind(random, depth + 1)}" for name in random.sample(_NAMES, random.randint(1, 3)))
    return f"STRUCT<{', '.join(fields)}>"


def _json_text(random: Random) -> str:
    text = _object(random, 0) if random.random() < 0.75 else _value(random, 0)
    for _ in range(random.randint(1, 2) if random.random() < 0.3 else 0):
        place, draw = random.randint(0, len(text)), random.random()
        if draw < 0.4:
            text = text[:place] + text[place + 1 :]
        elif draw < 0.8:
            text = text[:place] + random.choice(_ODD_CHARACTERS) + text[place:]
        else:
            text = text[:place]
    if random.random() < 0.05:
        text = (
            random.choice((" ", "\n", "\ufeff", "")) + text + random.choice((" ", "x", "}", " {}", ",", ""))
        )
    return text


def _value(random: Random, depth: int) -> str:
    draw = random.random()
    if depth > 3 or draw < 0.6:
        return random.choice(_JSON_VALUES)
    if draw < 0.75:
        space = random.choice(("", "", " ", "\n"))
        items = (_value(random, depth + 1) for _ in range(random.randint(0, 3)))
        return f"[{space}{f',{space}'.join(items)}]"
    return _object(random, depth)


def _object(random: Random, depth: int) -> str:
    space = random.choice(("", "", " ", "\t"))
    members = (f"{_name(random)}{space}:{_value(random, depth + 1)}" for _ in range(random.randint(0, 4)))
    return f"{{{space}{f'{space},'.join(members)}}}"


def _name(random: Random) -> str:
    name = random.choice(("a", "b", "c", "A", "d", "a"))
    if random.random() < 0.92:
        return f'"{name}"'
    return random.choice((name, f"'{name}'", '"\\u0061"', '""', '"é"', "null", "1", '"a\n"', "é"))
