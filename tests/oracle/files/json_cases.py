"""JSON files, odd ones above all, and options and schemas to read them with."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Final

from tests.oracle.files.cases import FileCase, Way

_NAMES: Final = ("a", "b", "c", "d")
_INTEGERS: Final = ("0", "1", "-7", "42", "127", "128", "255", "256", "-129", "32768", "2147483648", "-0")
_BIG: Final = (
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809"),
    *("12345678901234567890", "9" * 20, "9" * 37, "9" * 38, "9" * 39, "-" + "9" * 38, "1" + "0" * 60),
    *("1" * 400, "1.0000000000000000001", "123456789012345678901234567890.5"),
)
_FRACTIONS: Final = (
    *("1.5", "-0.0", "0.1", "1e3", "1E-7", "2.50", "1e400", "-1e400", "1e-400", "4.9e-324", "1.005", "0e0"),
    *(
        "16777217.0",
        "16777219.0",
        "9007199254740993.0",
        "0.30000000000000004",
        "1e22",
        "1e23",
        "3.4028236e38",
    ),
    *("1.00000017881393432617187499", "123456.789", "99.995", "5e-1", "10e+2", "0.00001"),
)
_WORDS: Final = (
    "NaN",
    "Infinity",
    "-Infinity",
    "+Infinity",
    "-INF",
    "+INF",
    "INF",
    "nan",
    "-NaN",
    "+1",
    "Inf",
)
_TEXTS: Final = (
    "x",
    "",
    "a b",
    "é",
    "true",
    "1",
    "-2",
    "1.5",
    "null",
    "2024-01-02",
    "NaN",
    "{}",
    "[1]",
    "日本",
    "😀",
)
_MOMENTS: Final = (
    *("2024-01-02", "2024-1-2", "2024-02-30", "2024", "2024-01", "2024-01-02 03:04:05", "2024-01-02T03:04"),
    *("2024-01-02 03:04:05.123456", "2024-01-02T03:04:05Z", "2024-01-02 03:04:05+01:00", "02/01/2024"),
    *("2024-01-02 ", " 2024-01-02", "0001-01-01", "9999-12-31", "2024-01-02 25:00:00", "now", "18000", "12"),
    *(
        "2024-01-02T03:04:05.5GMT+02:00",
        "2024-01-02GMT",
        "2/1/2024",
        "2024-01-02T03:04:05.123",
        "20240102",
        "-5",
    ),
    *("2024-01-02 03:04:05 Europe/Paris", "1582-10-10", "1900-01-01 00:00:00", "2024-01-02x", "2024-12-31T"),
)
_TYPES: Final = (
    *("INT", "BIGINT", "SMALLINT", "TINYINT", "DOUBLE", "FLOAT", "BOOLEAN", "DATE", "TIMESTAMP", "STRING"),
    *("TIMESTAMP_NTZ", "DECIMAL(5,2)", "DECIMAL(38,0)", "BINARY", "ARRAY<INT>", "MAP<STRING,INT>"),
    *("STRUCT<x:INT,y:STRING>", "ARRAY<STRING>", "STRUCT<x:STRUCT<y:BIGINT>>", "MAP<STRING,STRING>"),
    *("ARRAY<STRUCT<x:INT,y:DOUBLE>>", "MAP<STRING,STRUCT<x:INT>>", "ARRAY<ARRAY<STRING>>"),
)
_CORRUPT: Final = "_corrupt_record STRING"

_Content = tuple[Sequence[bytes | str], Mapping[str, str], str | None]


def cases(random: Random) -> Iterator[FileCase]:
    """Endless cases, the classes of oddity one after the other."""
    while True:
        for oddity, make in _CLASSES.items():
            yield _made(random, oddity, *make(random))


def _made(
    random: Random,
    oddity: str,
    contents: Sequence[bytes | str],
    options: Mapping[str, str],
    ddl: str | None,
) -> FileCase:
    files = tuple(
        (
            f"{chr(97 + number)}.json",
            content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"),
        )
        for number, content in enumerate(contents)
    )
    plain = not options and ddl is None and random.random() < 0.5
    way = Way.PATH if plain else random.choice((Way.TABLE, Way.VIEW))
    place = files[0][0] if len(files) == 1 and random.random() < 0.5 else ""
    query = "SELECT * FROM {source}"
    if random.random() < 0.08:
        query = "SELECT count(*) FROM {source}"
    elif ddl is not None and random.random() < 0.15:
        condition = random.choice(("a IS NOT NULL", "a IS NULL", "a = a", "NOT a IS NULL"))
        query = f"SELECT * FROM {{source}} WHERE {condition}"
    elif ddl is not None and random.random() < 0.1:
        query = "SELECT a FROM {source}"
    return FileCase("json", files, oddity, options, ddl, way, place, query)


# ---- texts


def _space(random: Random) -> str:
    return random.choice(("", "", "", " ", "  ", "\t"))


def _text(random: Random, words: Sequence[str] = _TEXTS) -> str:
    return json.dumps(random.choice(words), ensure_ascii=random.random() < 0.3)


def _scalar(random: Random) -> str:
    kinds = (_INTEGERS, _INTEGERS, _FRACTIONS, ("true", "false", "null"))
    return random.choice((*(random.choice(kind) for kind in kinds), _text(random), _text(random)))


def _value(random: Random, depth: int = 2) -> str:
    """Any JSON value, spaces and all."""
    if depth == 0 or random.random() < 0.6:
        return _scalar(random)
    one, two = _space(random), _space(random)
    if random.random() < 0.5:
        items = [_value(random, depth - 1) for _ in range(random.randint(0, 3))]
        return "[" + one + f"{two},{one}".join(items) + two + "]"
    return _object(
        random, random.sample(("x", "y", "z"), random.randint(0, 2)), lambda r: _value(r, depth - 1)
    )


def _object(random: Random, names: Sequence[str], value: Callable[[Random], str], quote: str = '"') -> str:
    one, two, three = _space(random), _space(random), _space(random)
    members = [f"{quote}{name}{quote}{one}:{two}{value(random)}" for name in names]
    return "{" + three + f"{one},{two}".join(members) + one + "}"


def _lines(
    random: Random,
    value: Callable[[Random], str],
    names: Sequence[str] = _NAMES[:3],
    most: int = 4,
    end: str = "\n",
) -> str:
    """Objects, one a line, of some of the names."""
    objects = []
    for _ in range(random.randint(1, most)):
        some = [name for name in names if random.random() < 0.8]
        random.shuffle(some)
        objects.append(_object(random, some, value))
    return end.join(objects) + (end if random.random() < 0.8 else "")


def _some(random: Random, options: Mapping[str, Sequence[str]], chance: float = 0.3) -> dict[str, str]:
    return {key: random.choice(values) for key, values in options.items() if random.random() < chance}


def _schema(random: Random, types: Sequence[str] = _TYPES, *, corrupt: float = 0.6) -> str:
    columns = [f"{name} {random.choice(types)}" for name in _NAMES[: random.randint(1, 3)]]
    if random.random() < corrupt:
        columns.insert(random.randint(0, len(columns)), _CORRUPT)
    return ", ".join(columns)


_MODES: Final = {"mode": ("PERMISSIVE", "DROPMALFORMED", "FAILFAST", "dropMalformed", "odd")}


# ---- classes


def _plain(random: Random) -> _Content:
    """Rows of the same fields, several files; types agree or nearly so."""
    kinds = [
        random.choice(
            ((_INTEGERS[:4]), _FRACTIONS[:6], ("true", "false"), ('"x"', '"é"', '"a b"'), ("[1]", "[]"))
        )
        for _ in _NAMES[:3]
    ]

    def line() -> str:
        return json.dumps(
            {
                name: json.loads(random.choice(kind))
                for name, kind in zip(_NAMES, kinds, strict=False)
                if random.random() < 0.9
            },
            ensure_ascii=random.random() < 0.5,
        )

    files = [
        "\n".join(line() for _ in range(random.randint(1, 6))) + "\n" for _ in range(random.randint(1, 3))
    ]
    ddl = _schema(random, ("INT", "BIGINT", "DOUBLE", "STRING", "BOOLEAN")) if random.random() < 0.3 else None
    return files, {}, ddl


def _keys_by_case(random: Random) -> _Content:
    """Keys that differ by case alone, in one object or in several, on top or inside."""
    names = random.sample(("a", "A", "aB", "Ab", "ab"), random.randint(2, 3))
    spread = random.random() < 0.6
    objects = [
        _object(random, [random.choice(names)] if spread else names, _scalar)
        for _ in range(random.randint(1, 4))
    ]
    if random.random() < 0.4:
        objects = [f'{{"s":{one}}}' for one in objects]
    ddl = f"{names[0]} STRING, b INT" if random.random() < 0.3 else None
    return ["\n".join(objects)], {}, ddl


def _keys_twice(random: Random) -> _Content:
    """Keys that stand twice in one object."""
    objects = [
        _object(random, random.choices(("a", "b", "c"), k=random.randint(2, 4)), _scalar)
        for _ in range(random.randint(1, 3))
    ]
    if random.random() < 0.3:
        objects = [f'{{"a":{one}}}' for one in objects]
        return (
            ["\n".join(objects)],
            {},
            random.choice((None, "a MAP<STRING,STRING>", "a STRUCT<a:INT,b:STRING>")),
        )
    return ["\n".join(objects)], {}, _schema(random, _TYPES[:12]) if random.random() < 0.6 else None


def _single_quotes(random: Random) -> _Content:
    """Single quotes around names and values, and quotes inside of quotes."""
    words = (
        "'x'",
        "'a\"b'",
        '"a\'b"',
        "'a\\'b'",
        '"a\\\'b"',
        "'é'",
        "''",
        "1",
        "'\\u0041'",
        "'a\tb'",
        '"b\\"c"',
    )

    def value(random: Random) -> str:
        return random.choice(words)

    objects = [_object(random, _NAMES[: random.randint(1, 2)], value, random.choice("'\"")) for _ in range(3)]
    options = _some(random, {"allowSingleQuotes": ("false", "true")})
    return (
        ["\n".join(objects)],
        options,
        _schema(random, ("STRING", "INT")) if random.random() < 0.4 else None,
    )


def _values_as_strings(random: Random) -> _Content:
    """Objects, arrays, numbers and words that are read as strings."""

    def value(random: Random) -> str:
        return _value(random, 3) if random.random() < 0.7 else random.choice((*_WORDS[:6], *_BIG[:6]))

    ddl = _schema(random, ("STRING", "ARRAY<STRING>", "MAP<STRING,STRING>", "STRUCT<x:STRING>"))
    return [_lines(random, value)], {}, ddl if random.random() < 0.6 else None


def _empty_values(random: Random) -> _Content:
    """Empty objects and arrays, nulls, and fields of nothing else."""
    words = (
        "{}",
        "[]",
        "null",
        '""',
        "[null]",
        "[{}]",
        "[[]]",
        '{"x":{}}',
        '{"x":null}',
        '{"":1}',
        "1",
        '[{"x":[]}]',
    )

    def value(random: Random) -> str:
        return random.choice(words)

    text = _lines(random, value, (*_NAMES[:3], ""))
    return [text], _some(random, {"dropFieldIfAllNull": ("true", "false")}), None


def _big_numbers(random: Random) -> _Content:
    """Integers beyond bigint and decimal, beside smaller ones and fractions."""
    words = random.sample((*_BIG, *_BIG, "1", "-5", "1.5", "1e3", "null", '"x"'), 3)

    def value(random: Random) -> str:
        return random.choice(words)

    options = _some(random, {"prefersDecimal": ("true",)})
    ddl = _schema(random, ("DECIMAL(38,0)", "DECIMAL(20,2)", "BIGINT", "DOUBLE", "FLOAT", "STRING"))
    return [_lines(random, value, most=5)], options, ddl if random.random() < 0.4 else None


def _fractions(random: Random) -> _Content:
    """Doubles and floats to their last digit, words for numbers."""

    def value(random: Random) -> str:
        word = random.choice(_WORDS)
        return random.choice((random.choice(_FRACTIONS), random.choice(_FRACTIONS), word, f'"{word}"'))

    options = _some(random, {"allowNonNumericNumbers": ("false", "true"), "prefersDecimal": ("true",)}, 0.2)
    ddl = _schema(random, ("DOUBLE", "FLOAT", "DECIMAL(10,4)", "STRING"))
    return [_lines(random, value)], options, ddl if random.random() < 0.6 else None


def _arrays_on_top(random: Random) -> _Content:
    """Arrays on top, several values on a line, values that are no objects."""
    values = [
        random.choice(
            (one, f"[{one}]", f"[{one},{two}]", f"{one} {two}", f"{one}{two}", f"{one} x", _value(random))
        )
        for one, two in (
            (_object(random, ("a", "b"), _scalar), _object(random, ("a",), _scalar)) for _ in range(4)
        )
    ]
    text = "\n".join(values[: random.randint(1, 4)])
    options = _some(random, {"multiLine": ("true",), **_MODES}, 0.2)
    return [text], options, _schema(random, _TYPES[:10]) if random.random() < 0.5 else None


def _broken(random: Random) -> _Content:
    """Lines with bytes changed, removed, added and swapped."""
    content = bytearray(_lines(random, _value, most=5).encode())
    for _ in range(random.randint(1, 4)):
        place = random.randrange(len(content) + 1)
        match random.randint(0, 3):
            case 0:
                del content[place : place + random.randint(1, 3)]
            case 1:
                content[place:place] = random.choice(_MUTATIONS)
            case 2:
                content[place : place + 1] = random.choice(_MUTATIONS)
            case _:
                other = random.randrange(len(content) + 1)
                content[place:place] = content[other : other + random.randint(1, 8)]
        content = content or bytearray(b"{")
    ddl = _schema(random) if random.random() < 0.7 else None
    return [bytes(content)], _some(random, _MODES, 0.3), ddl


_MUTATIONS: Final = tuple(
    text.encode() if isinstance(text, str) else text
    for text in (
        *(
            '"',
            "'",
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "\\",
            "\\u",
            "\\x",
            "tru",
            "nul",
            "-",
            ".",
            "e",
            "0",
            "1",
            " ",
        ),
        *(
            "\n",
            "\r",
            "\t",
            "/",
            "/*",
            "#",
            "\x00",
            "\x01",
            "é",
            "NaN",
            "+",
            "\ufeff",
            b"\xff",
            b"\xc3",
            b"\x80",
        ),
    )
)


def _blanks(random: Random) -> _Content:
    """Empty files, blank lines, byte order marks, all ends of lines."""
    end = random.choice(("\n", "\r\n", "\r", "\n\n", "\n \n", "\r\r\n", "\n\x0b\n"))
    text = random.choice(("", "", "\n", "  \n\t", "\ufeff", _lines(random, _scalar, end=end)))
    text = random.choice(("", "", "\ufeff", "\n", "\ufeff\ufeff")) + text
    lone = random.random() < 0.3
    return [text] if lone else [text, _lines(random, _scalar, end=end)], {}, _schema(random) if lone else None


def _encodings(random: Random) -> _Content:
    """Other encodings, given or not."""
    encoding = random.choice(
        ("UTF-8", "UTF-16", "UTF-16LE", "UTF-16BE", "UTF-32", "ISO-8859-1", "US-ASCII", "utf-8", "cp1252")
    )
    text = _lines(random, random.choice((_scalar, _value)))
    content = text.encode(encoding, "replace")
    options = _some(random, {"lineSep": ("\n",), "multiLine": ("true",)}, 0.5)
    if random.random() < 0.7:
        options["encoding"] = random.choice((encoding, encoding, "UTF-8", "ISO-8859-1"))
    return [content], options, _schema(random, _TYPES[:10]) if random.random() < 0.4 else None


def _conflicts(random: Random) -> _Content:
    """Values of different types in one field, over rows and files."""
    files = [_lines(random, _value, _NAMES[:2], 3) for _ in range(random.randint(1, 2))]
    options = _some(random, {"primitivesAsString": ("true",), "prefersDecimal": ("true",)}, 0.2)
    return files, options, None


def _moments(random: Random) -> _Content:
    """Dates and timestamps, with formats and without."""

    def value(random: Random) -> str:
        return json.dumps(random.choice(_MOMENTS)) if random.random() < 0.9 else _scalar(random)

    options = _some(
        random,
        {
            "dateFormat": ("dd/MM/yyyy", "yyyy-MM-dd", "d/M/yyyy", "yyyy"),
            "timestampFormat": ("yyyy-MM-dd HH:mm:ss", "dd/MM/yyyy", "yyyy-MM-dd'T'HH:mm:ss[.SSS][XXX]"),
            "timestampNTZFormat": ("yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd'T'HH:mm:ss[.SSS]"),
            "inferTimestamp": ("true",),
        },
    )
    ddl = _schema(random, ("DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "STRING", "ARRAY<DATE>", "STRUCT<x:DATE>"))
    return [_lines(random, value, most=6)], options, ddl if random.random() < 0.8 else None


def _schemas(random: Random) -> _Content:
    """Every type against every token."""
    return [_lines(random, _value, most=6)], _some(random, _MODES, 0.15), _schema(random)


def _partial(random: Random) -> _Content:
    """Nested values of which a part does not fit."""

    def value(random: Random) -> str:
        inner = _object(random, ("x", "y"), _value)
        return random.choice(
            (inner, f"[{inner},{_value(random)}]", f"[{_scalar(random)},{_scalar(random)}]", inner)
        )

    ddl = _schema(random, _TYPES[14:], corrupt=0.8)
    options = _some(random, {"multiLine": ("true",), **_MODES}, 0.15)
    return [_lines(random, value)], options, ddl


def _escapes(random: Random) -> _Content:
    """Escapes, good ones and bad ones, halves of surrogate pairs, bytes that are no UTF-8."""
    words: tuple[bytes, ...] = (
        *(
            b'"\\n\\t\\/\\b"',
            b'"\\u00e9"',
            b'"\\ud83d\\ude00"',
            b'"\\ud83d"',
            b'"\\ude00x"',
            b'"\\u12"',
            b'"\\q"',
        ),
        *(
            b'"\xff"',
            b'"\xc3\xa9"',
            b'"\xc3"',
            b'"\xc0\x80"',
            b'"\xed\xa0\x80"',
            b'"\xf0\x9f\x98\x80"',
            b'"\xe2\x82"',
        ),
        *(
            b'"\\u0000"',
            b'"\x01"',
            b'"a\\',
            b'"\x7f"',
            b'"\\U0041"',
            b'"\\u00E9\\\\"',
            b'"\xf8\x88\x80\x80"',
            b'"x"',
        ),
    )
    names = (b'"a"', b'"b"', b'"\\u0061"', b'"a\\n"', b'"\xc3\xa9"', b'"\\ud83d"')
    lines = [
        b"{" + b",".join(random.choice(names[:3]) + b":" + random.choice(words) for _ in range(2)) + b"}"
        for _ in range(random.randint(1, 3))
    ]
    if random.random() < 0.2:
        lines.append(b"{" + random.choice(names) + b":1}")
    few = {"allowUnquotedControlChars": ("true",), "allowBackslashEscapingAnyCharacter": ("true",)}
    ddl = _schema(random, ("STRING", "BINARY", "INT", "MAP<STRING,STRING>"))
    return [b"\n".join(lines)], _some(random, few, 0.2), ddl if random.random() < 0.6 else None


def _deep(random: Random) -> _Content:
    """Nested deep, up to Jackson's bound and beyond."""
    depth = random.choice((3, 10, 30, 100, 400, 999, 1000, 1001, 3000))
    inner = _scalar(random)
    one = random.choice(("[" * depth + inner + "]" * depth, '{"a":' * depth + inner + "}" * depth))
    text = f'{{"a":1,"b":{one},"c":2}}\n{{"a":2}}\n'
    ddl = random.choice(
        ("a INT, _corrupt_record STRING", "a INT, b STRING, c INT", "b ARRAY<ARRAY<STRING>>, a INT")
    )
    return [text], {}, ddl if depth > 30 or random.random() < 0.5 else None


def _liberties(random: Random) -> _Content:
    """The options that allow more than the standard, each with texts that need it."""
    needs: dict[str, tuple[str, ...]] = {
        "allowComments": ('/*x*/{"a":1}', '{"a":/*é*/1}//b', '{"a":1/', '{"a"://\n1}', '{"a":"//"}'),
        "allowUnquotedFieldNames": ("{a:1}", "{a_1 : 2}", "{é:1}", "{1a:1}", "{a-b:1}", '{a b:1, "c":2}'),
        "allowNumericLeadingZeros": ('{"a":007}', '{"a":-00.5}', '{"a":00}', '{"a":0x1}', '{"a":[01,2]}'),
        "allowBackslashEscapingAnyCharacter": ('{"a":"\\q"}', '{"a":"\\\'"}', '{"a":"\\é"}', '{"\\a":1}'),
        "allowUnquotedControlChars": ('{"a":"x\ty"}', '{"a":"\x01"}', '{"a\tb":1}', '{"a":{"b":"\x0b"}}'),
        "allowNonNumericNumbers": ('{"a":NaN}', '{"a":[-Infinity,+INF]}', '{"a":NaNx}', '{"a":-I}'),
        "allowSingleQuotes": ("{'a':1}", "{'a':'x'}", '{"a":\'"\'}'),
    }
    option = random.choice(list(needs))
    lines = [random.choice(needs[option]) for _ in range(2)] + ['{"a":1,"b":"x"}']
    if random.random() < 0.3:
        lines.append(random.choice(needs[random.choice(list(needs))]))
    random.shuffle(lines)
    options = {option: random.choice(("true", "true", "false"))}
    ddl = _schema(random, ("STRING", "INT", "DOUBLE", "ARRAY<INT>"))
    return ["\n".join(lines)], options, ddl if random.random() < 0.5 else None


def _records(random: Random) -> _Content:
    """Modes, names of the column of corrupt records, separators of lines, values over several lines."""
    good = _lines(random, _scalar, most=3)
    text = random.choice(
        (good, good + "{\n", good.replace(",", ",\n"), good.replace("\n", "|"), "x\n" + good)
    )
    options = _some(
        random,
        {
            **_MODES,
            "columnNameOfCorruptRecord": ("bad", "_corrupt_record", "a"),
            "lineSep": ("|", "\n", ",", "\r\n"),
            "multiLine": ("true",),
        },
    )
    ddl = random.choice(
        (None, None, "a STRING, bad STRING", "a INT, _corrupt_record STRING", "bad INT, a INT")
    )
    return [text, good] if random.random() < 0.3 else [text], options, ddl


_CLASSES: Final[Mapping[str, Callable[[Random], _Content]]] = {
    "plain": _plain,
    "keys by case": _keys_by_case,
    "keys twice": _keys_twice,
    "single quotes": _single_quotes,
    "values as strings": _values_as_strings,
    "empty values": _empty_values,
    "big numbers": _big_numbers,
    "fractions": _fractions,
    "arrays on top": _arrays_on_top,
    "broken": _broken,
    "blanks": _blanks,
    "encodings": _encodings,
    "conflicts": _conflicts,
    "moments": _moments,
    "schemas": _schemas,
    "partial": _partial,
    "escapes": _escapes,
    "deep": _deep,
    "liberties": _liberties,
    "records": _records,
}
