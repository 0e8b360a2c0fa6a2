"""CSV files, odd ones above all, and options to read them with."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from tests.oracle.files.cases import FileCase, Way

_WORDS: Final = ("a", "b c", "x", "1", "-2", "3.5", "true", "", "NA", "\\", "é", "0", "2024-01-02", "#", "ab")
_ALPHABET: Final = (",", ";", '"', "'", "\n", "\r", "\t", " ", "#", "\\", "a", "1", "-", ".", "N", "é", "|")
_QUOTED: Final = ('"', '""', '"a', 'a"', '"a"', '"a"b', 'a"b"', '"a""b"', '"a\\"b"', '"\\"', "'a'", '" a "')
_NUMBERS: Final = (
    *("1", "-7", "+3", "2147483647", "2147483648", "9223372036854775807", "9223372036854775808", "007"),
    *("1.5", "-.5", "5.", "1e3", "1E400", "NaN", "Inf", "-Infinity", "1d", "2f", " 4", "4 ", "0x10", "1L"),
    *("12345678901234567890123456789012345678", "123456789012345678901234567890123456789", "-0", "-0.0"),
)
_MOMENTS: Final = (
    *("2024-01-02", "2024-1-2", "2024-02-30", "2024", "2024-01", "2024-01-02 03:04:05", "2024-01-02T03:04"),
    *("2024-01-02 03:04:05.123456", "2024-01-02T03:04:05Z", "2024-01-02 03:04:05+01:00", "02/01/2024"),
    *("2024-01-02 ", "12:30", "0001-01-01", "9999-12-31", "10000-01-01", "2024-01-02 25:00:00", "now"),
)
_TRUTHS: Final = ("true", "false", "TRUE", "False", "t", "1", "yes", " true")
_VALUES: Final = (*_NUMBERS, *_MOMENTS, *_TRUTHS, "", "x", "null", '""', "NA")
_TYPES: Final = (
    *("INT", "BIGINT", "SMALLINT", "TINYINT", "DOUBLE", "FLOAT", "BOOLEAN", "DATE", "TIMESTAMP", "STRING"),
    *("TIMESTAMP_NTZ", "DECIMAL(5,2)", "DECIMAL(38,0)", "BINARY"),
)
#: Queries over a part of the columns, or of the rows.
_PRUNED: Final = (
    "SELECT a FROM {source}",
    "SELECT count(a) FROM {source}",
    "SELECT a FROM {source} WHERE a IS NOT NULL",
    "SELECT * FROM {source} WHERE a IS NULL",
)
_NAMES: Final = ("a", "b", "c", "d", "e")


def cases(random: random.Random) -> Iterator[FileCase]:
    """Endless cases, the classes of oddity one after the other."""
    while True:
        for oddity, make in _CLASSES.items():
            yield _made(random, oddity, *make(random))


_Content = tuple[Sequence[bytes | str], Mapping[str, str], str | None]


def _made(
    random: random.Random,
    oddity: str,
    contents: Sequence[bytes | str],
    options: Mapping[str, str],
    ddl: str | None,
) -> FileCase:
    files = tuple(
        (f"{chr(97 + number)}.csv", content if isinstance(content, bytes) else content.encode())
        for number, content in enumerate(contents)
    )
    plain = not options and ddl is None and random.random() < 0.5
    place = files[0][0] if len(files) == 1 and random.random() < 0.5 else ""
    query = "SELECT * FROM {source}"
    if random.random() < 0.1:
        query = "SELECT count(*) FROM {source}"
    elif ddl is not None and ddl.startswith("a ") and random.random() < 0.2:
        query = random.choice(_PRUNED)
    way = Way.PATH if plain else random.choice((Way.TABLE, Way.TABLE, Way.VIEW))
    return FileCase("csv", files, oddity, options, ddl, way, place, query)


def _table(
    random: random.Random, words: Sequence[str], rows: int, width: int, sep: str = ",", end: str = "\n"
) -> str:
    """Records of equally many fields."""
    lines = [sep.join(random.choice(words) for _ in range(width)) for _ in range(rows)]
    return end.join(lines) + (end if random.random() < 0.8 else "")


def _some(random: random.Random, options: Mapping[str, Sequence[str]], chance: float = 0.5) -> dict[str, str]:
    """Some of the options, each with one of its values."""
    return {key: random.choice(values) for key, values in options.items() if random.random() < chance}


def _schema(random: random.Random, width: int, types: Sequence[str] = _TYPES) -> str:
    return ", ".join(f"{_NAMES[column]} {random.choice(types)}" for column in range(width))


def _headers(random: random.Random) -> _Content:
    """Names that stand twice, or twice but for case; empty, null and quoted names."""
    names = [random.choice(("a", "a", "A", "b", "", "a0", "a1", '"a"', " a", "_c0", "NA")) for _ in range(4)]
    names = names[: random.randint(1, 4)]
    body = _table(random, _WORDS[:8], random.randint(0, 3), len(names))
    options = {"header": "true"} | _some(random, {"nullValue": ["NA", "a"], "inferSchema": ["true"]}, 0.2)
    return [",".join(names) + "\n" + body], options, None


def _quotes(random: random.Random) -> _Content:
    """Quotes inside unquoted fields, unbalanced, beside text, escaped in every way."""
    text = _table(random, (*_QUOTED, "a", "", "b"), random.randint(1, 4), random.randint(1, 3))
    handling = ["STOP_AT_CLOSING_QUOTE", "BACK_TO_DELIMITER", "RAISE_ERROR"]
    few = {"escape": ['"', "'", ""], "quote": ["'", ""], "charToEscapeQuoteEscaping": ["\\", "#"]}
    return (
        [text],
        _some(random, few, 0.25) | _some(random, {"unescapedQuoteHandling": [*handling, "RAISE_ERROR"]}, 0.3),
        None,
    )


def _several_lines(random: random.Random) -> _Content:
    """Quoted fields over several lines."""
    words = ('"a\nb"', '"a\r\nb"', '"\n"', '"a\rb"', "x", "", '"c', 'd"', '"a""\nb"', '"#\n"')
    end = random.choice(("\n", "\n", "\r\n", "\r"))
    text = _table(random, words, random.randint(1, 4), random.randint(1, 3), end=end)
    few = {"escape": ['"'], "comment": ["#"], "header": ["true"], "lineSep": ["\n"], "inferSchema": ["true"]}
    return [text], {"multiLine": random.choice(("true", "true", "false"))} | _some(random, few, 0.25), None


def _empty(random: random.Random) -> _Content:
    """Empty files, blank ones and files of a header alone."""
    contents = [random.choice(("", "\n", " \n", "a,b\n", "a,b", "\n\na,b\n", "#\n", '""\n', "a,b\n1,2\n"))]
    if random.random() < 0.4:
        contents.append(random.choice(("", "a,b\n", "a,b\n3,4\n", "\n")))
    few = {"header": ["true"], "inferSchema": ["true"], "multiLine": ["true"], "comment": ["#"]}
    return contents, _some(random, few), _schema(random, 2) if random.random() < 0.3 else None


def _encodings(random: random.Random) -> _Content:
    """Marks of the byte order, and texts in other encodings."""
    text = _table(random, ("é", "ü", "日本", "a", "1", "😀", '"é"', ""), random.randint(1, 4), 2)
    mark, codec = random.choice(
        (
            *((b"\xef\xbb\xbf", "utf-8"), (b"", "latin-1"), (b"", "utf-8"), (b"", "cp1252"), (b"", "utf-16")),
            *((b"", "utf-16-le"), (b"", "utf-16-be"), (b"\xff", "utf-8"), (b"", "utf-32"), (b"", "ascii")),
        )
    )
    names = ["UTF-8", "utf8", "ISO-8859-1", "latin1", "UTF-16", "UTF-16LE", "UTF-16BE", "US-ASCII", "cp1252"]
    few = {"encoding": [*names, "UTF-32", "nope", codec, codec, codec], "header": ["true"]}
    options = _some(random, few) | _some(random, {"multiLine": ["true"], "lineSep": ["\n"]}, 0.2)
    return [mark + text.encode(codec, "replace")], options, None


def _ragged(random: random.Random) -> _Content:
    """Records of different lengths."""
    lines = [",".join(random.choices(_WORDS, k=random.randint(1, 4))) for _ in range(random.randint(1, 5))]
    ddl = _schema(random, random.randint(1, 4)) if random.random() < 0.5 else None
    few = {"header": ["true"], "inferSchema": ["true"], "multiLine": ["true"]}
    modes = {"mode": ["PERMISSIVE", "DROPMALFORMED", "FAILFAST"]}
    return ["\n".join(lines)], _some(random, few, 0.3) | _some(random, modes), ddl


def _nulls(random: random.Random) -> _Content:
    """Texts that are null, empty, not a number or infinite."""
    words = ("NA", "", '""', '"NA"', "null", "-", "nan", "NaN", "Inf", "-Inf", "inf", "1", "x", " ", "0")
    few = {
        "nullValue": ["NA", "-", "null", "x", "0"],
        "emptyValue": ["NA", "empty", ""],
        "nanValue": ["nan", "-"],
        "positiveInf": ["inf", "x"],
        "negativeInf": ["-inf", "NA"],
        "inferSchema": ["true"],
    }
    ddl = _schema(random, 2, ("STRING", "DOUBLE", "FLOAT", "INT")) if random.random() < 0.5 else None
    return [_table(random, words, random.randint(1, 5), 2)], _some(random, few, 0.4), ddl


def _comments(random: random.Random) -> _Content:
    """Comment lines and blank lines between the records."""
    lines = [
        random.choice(("a,b", "#a,b", " #a", "", "  ", "\t", "a,#b", '"#",b', "1,2", "#", '"', "\x0b", ","))
        for _ in range(random.randint(1, 7))
    ]
    few = {"comment": ["#", "#", "a", "##", ""], "header": ["true"], "multiLine": ["true"]}
    return ["\n".join(lines)], _some(random, few, 0.6), None


def _white_space(random: random.Random) -> _Content:
    """White space around fields, quotes and line ends."""
    words = (" a", "a ", " a ", "\ta", ' "a"', '"a" ', '" a "', "  ", "", "1 ", " 1", "a b", ' "a', '"a" b')
    few = {
        "ignoreLeadingWhiteSpace": ["true", "false"],
        "ignoreTrailingWhiteSpace": ["true"],
        "inferSchema": ["true"],
        "sep": ["\t", " ", ";"],
        "header": ["true"],
        "multiLine": ["true"],
        "nullValue": ["a", " a"],
    }
    text = _table(
        random, words, random.randint(1, 4), random.randint(1, 3), end=random.choice(("\n", "\r\n"))
    )
    return [text], _some(random, few, 0.35), None


def _separators(random: random.Random) -> _Content:
    """Separators of fields and lines other than a comma and a line feed."""
    sep = random.choice(("||", ";", "\t", "|", "::", "ab", "a", "\\t", "¦", " ", "|+|", "aab", "-"))
    end = random.choice(("\n", "\r\n", "\r", ";", "|"))
    words = ("x", "1", "", '"y"', '"|"', f'"{sep}"', "|", "a", "b", ":", '"', sep[0])
    text = _table(random, words, random.randint(1, 4), random.randint(1, 4), sep, end)
    options = {random.choice(("sep", "sep", "delimiter", "SEP")): sep}
    options |= _some(random, {"lineSep": [end, end, "\n"], "multiLine": ["true"], "quote": ["'"]}, 0.25)
    return [text], options, None


def _several_files(random: random.Random) -> _Content:
    """Files whose headers differ from each other or from the schema."""
    heads = ["a,b", "a,b", "b,a", "a", "a,b,c", "A,B", " a,b", '"a","b"', "x,y", ""]
    contents = [
        random.choice(heads) + "\n" + _table(random, _WORDS[:7], random.randint(0, 3), random.randint(1, 3))
        for _ in range(random.randint(1, 3))
    ]
    few = {"enforceSchema": ["true", "false"], "inferSchema": ["true"], "multiLine": ["true"]}
    ddl = _schema(random, random.randint(1, 3), ("STRING", "INT")) if random.random() < 0.5 else None
    return contents, {"header": random.choice(("true", "true", "false"))} | _some(random, few, 0.3), ddl


def _inference(random: random.Random) -> _Content:
    """Columns of numbers, dates, timestamps and booleans, whose types Spark infers."""
    kinds = (_NUMBERS, _MOMENTS, _TRUTHS, _NUMBERS[:10], _MOMENTS[:6], _VALUES, _NUMBERS[:4], _MOMENTS[:1])
    columns = [random.choices(random.choice(kinds), k=random.randint(1, 5)) for _ in range(3)]
    rows = max(len(column) for column in columns)
    lines = [",".join(column[row % len(column)] for column in columns) for row in range(rows)]
    few = {
        "preferDate": ["true", "false"],
        "nullValue": ["NA"],
        "dateFormat": ["yyyy-MM-dd", "dd/MM/yyyy", "yyyy"],
        "timestampFormat": ["yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd'T'HH:mm:ss[.SSS][XXX]"],
        "timestampNTZFormat": ["yyyy-MM-dd HH:mm:ss"],
        "samplingRatio": ["1.0", "0.5"],
        "ignoreLeadingWhiteSpace": ["true"],
    }
    return ["\n".join(lines)], {"inferSchema": "true"} | _some(random, few, 0.12), None


def _conversions(random: random.Random) -> _Content:
    """A user's schema over texts that may not convert."""
    width = random.randint(1, 4)
    text = _table(random, _VALUES, random.randint(1, 6), width)
    few = {
        "mode": ["DROPMALFORMED", "FAILFAST", "permissive", "other"],
        "dateFormat": ["dd/MM/yyyy", "yyyy-MM-dd", "yyyy"],
        "timestampFormat": ["yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd"],
        "timestampNTZFormat": ["yyyy-MM-dd HH:mm:ss"],
        "nullValue": ["1", "NA"],
    }
    return [text], _some(random, few, 0.15), _schema(random, width)


def _corrupt_records(random: random.Random) -> _Content:
    """Malformed records, kept in a column of their own."""
    name = random.choice(("_corrupt_record", "_corrupt_record", "bad"))
    columns = [f"{column} {random.choice(_TYPES)}" for column in _NAMES[: random.randint(1, 3)]]
    columns.insert(random.randint(0, len(columns)), f"{name} STRING")
    lines = [",".join(random.choices(_VALUES, k=random.randint(1, 3))) for _ in range(random.randint(1, 5))]
    few = {"mode": ["PERMISSIVE", "DROPMALFORMED", "FAILFAST"], "header": ["true"], "multiLine": ["true"]}
    options = _some(random, few, 0.3) | ({"columnNameOfCorruptRecord": name} if name == "bad" else {})
    return ["\n".join(lines)], options, ", ".join(columns)


def _mutated(random: random.Random) -> _Content:
    """Any characters in any order."""
    text = "".join(random.choices(_ALPHABET, k=random.randint(1, 40)))
    few = {
        "header": ["true"],
        "multiLine": ["true"],
        "quote": ["'", ""],
        "escape": ['"', "'", ""],
        "comment": ["#"],
        "sep": [";", "\t", "|", "||"],
        "ignoreLeadingWhiteSpace": ["true"],
        "ignoreTrailingWhiteSpace": ["true"],
        "nullValue": ["N", "1"],
        "emptyValue": ["E"],
        "maxColumns": ["2", "3", "100"],
        "maxCharsPerColumn": ["3", "10", "-1"],
        "inferSchema": ["true"],
    }
    return [text], _some(random, few, random.choice((0.0, 0.1, 0.2))), None


_CLASSES: Final[dict[str, Callable[[random.Random], _Content]]] = {
    "headers": _headers,
    "quotes": _quotes,
    "several lines": _several_lines,
    "empty": _empty,
    "encodings": _encodings,
    "ragged": _ragged,
    "nulls": _nulls,
    "comments": _comments,
    "white space": _white_space,
    "separators": _separators,
    "several files": _several_files,
    "inference": _inference,
    "conversions": _conversions,
    "corrupt records": _corrupt_records,
    "mutated": _mutated,
}
