"""Random queries of from_xml and schema_of_xml: documents that are valid, nearly valid or hostile, and
schemas that they fit in part."""

from random import Random
from typing import Final

_ATOMS: Final = (
    *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(5,2)"),
    *("DECIMAL(38,10)", "STRING", "STRING", "STRING", "BINARY", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "TIME"),
)
#: Types of the root's attributes and text: Spark fails on a text there that is no FLOAT or DOUBLE.
_ROOT_ATOMS: Final = tuple(atom for atom in _ATOMS if atom not in ("FLOAT", "DOUBLE"))
_NAMES: Final = ("a", "b", "c", "d")
_CORRUPT: Final = "_corrupt_record STRING"
_VALUES: Final = (
    *("1", "0", "-0", "-1", "+5", "--5", "+-7", "127", "128", "-128", "32768", "2147483648", "-2147483648"),
    *("9223372036854775808", "12345678901234567890123", "1.5", ".5", "5.", "-0.0", "1e3", "1E400", "1.0E-5"),
    *("123.456", "1,234.5", "12abc", "1.5f", "1e5x", "99999.995", "true", "FALSE", "tRue", "NaN", "Infinity"),
    *("-Infinity", "x", "", " ", " 7 ", "\n 8\n", "N", "2020-01-02", "2020-1-2", "2020-13-01", "01/02/2020"),
    *(
        "2020-01-02T03:04:05",
        "2020-01-02 03:04:05.123456+01:00",
        "é😀",
        "a &amp; b",
        "&lt;",
        "&#65;&#x1F600;",
    ),
    *("<![CDATA[<x>]]>", "1<![CDATA[2]]>", "a\r\nb", "a]] >b", "1<!-- c -->2", "<?p i?>3", "a\tb", "'\""),
)
_ATTRIBUTE_VALUES: Final = (
    "1",
    "x",
    "",
    " 2 ",
    "N",
    "true",
    "a&amp;b",
    "&#10;",
    "a\nb",
    "2020-01-02",
    "'",
    "-3",
)
#: Faults that a text may have anywhere.
_FAULTS: Final = (
    *(
        "&",
        "& ",
        "&nope;",
        "&amp",
        "&#0;",
        "&#x",
        "<",
        "< ",
        "</",
        "</a>",
        "</b>",
        "<b>",
        "<c ",
        ">",
        "]]>",
        "\x01",
    ),
    *(
        "<!-- - -- -->",
        "<!-- ",
        "<![CDATA[",
        "<!",
        "<?",
        "<?xml ?>",
        '<a x="1" x="2"/>',
        "<a x=1/>",
        "<a x/>",
        '"',
    ),
    *('<a x="<"/>', '<a x="&n;"/>', "/", "=", "\ufffe", "<1/>", "<a/ >", "\x85"),
)
_OPTIONS: Final = (
    *("nullValue=N", "nullValue=", "nullValue=1", "ignoreSurroundingSpaces=false", "attributePrefix=@"),
    *("valueTag=e", "excludeAttribute=true", "ignoreNamespace=true", "dateFormat=dd/MM/yyyy"),
    *("timestampFormat=dd/MM/yyyy", "preferDate=false", "wildcardColName=b", "prefersDecimal=true"),
    *("inferSchema=false", "columnNameOfCorruptRecord=c", "timestampNTZFormat=dd/MM/yyyy"),
)
_ROWS: Final = 25
_SCHEMAS: Final = 10


def from_xml(seed: str) -> str:
    """Return a query of from_xml over some texts, with columns ``i`` (the row's number), ``v`` (the text) and
    ``x``."""
    random = Random(seed)
    if random.random() < 0.25:
        read = f"to_json(from_xml(v, 'variant'{_options(random)}))"
    else:
        read = f"from_xml(v, {_literal(_schema(random))}{_options(random)})"
    texts = [_text(random) for _ in range(_ROWS)]
    rows = ", ".join(f"({number}, {_literal(text)})" for number, text in enumerate(texts))
    return f"SELECT i, v, {read} AS x FROM VALUES {rows} AS t(i, v)"


def schema_of_xml(seed: str) -> str:
    """Return a query of schema_of_xml of some texts, each a column."""
    random = Random(seed)
    options = _options(random)
    calls = [f"schema_of_xml({_literal(_text(random))}{options}) AS x{n}" for n in range(_SCHEMAS)]
    return f"SELECT {', '.join(calls)}"


# ---- parts


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _options(random: Random) -> str:
    if random.random() < 0.5:
        return ""
    given = dict(option.split("=", 1) for option in random.sample(_OPTIONS, random.randint(1, 2)))
    return f", map({', '.join(f'{_literal(key)}, {_literal(value)}' for key, value in given.items())})"


def _schema(random: Random) -> str:
    columns = [f"{name} {_kind(random, 0)}" for name in random.sample(_NAMES, random.randint(1, len(_NAMES)))]
    if random.random() < 0.3:
        columns.append(f"_x {random.choice(_ROOT_ATOMS)}")
    if random.random() < 0.3:
        columns.append(f"_VALUE {random.choice((*_ROOT_ATOMS, 'ARRAY<STRING>', 'ARRAY<INT>', 'VARIANT'))}")
    if random.random() < 0.1:
        columns.append(f"xs_any {random.choice(('STRING', 'ARRAY<STRING>', 'INT'))}")
    if random.random() < 0.1:
        columns.append("`n:a` STRING")
    random.shuffle(columns)
    if random.random() < 0.5:
        columns.append(_CORRUPT)
    return ", ".join(columns)


def _kind(random: Random, depth: int) -> str:
    draw = random.random()
    if depth > 2 or draw < 0.5:
        return random.choice(_ATOMS)
    if draw < 0.7:
        return f"ARRAY<{_item(random, depth + 1)}>"
    if draw < 0.78:
        return f"MAP<STRING, {_item(random, depth + 1)}>"
    names = random.sample((*_NAMES, "_x", "_y", "_VALUE"), random.randint(1, 4))
    return f"STRUCT<{', '.join(f'{name}: {_kind(random, depth + 1)}' for name in names)}>"


def _item(random: Random, depth: int) -> str:
    """Draw a type that isn't an array: arrays of arrays and maps of arrays are broken in Spark."""
    while (kind := _kind(random, depth)).startswith("ARRAY"):
        pass
    return kind


def _text(random: Random) -> str:
    text = _element(random, 0)
    for _ in range(random.randint(1, 2) if random.random() < 0.35 else 0):
        place, draw = random.randint(0, len(text)), random.random()
        if draw < 0.3:
            text = text[:place] + text[place + 1 :]
        elif draw < 0.9:
            text = text[:place] + random.choice(_FAULTS) + text[place:]
        else:
            text = text[:place]
    if random.random() < 0.1:
        prolog = random.choice(
            (" ", "\n", "\ufeff", '<?xml version="1.0"?>', "<!-- c -->", "<!DOCTYPE a>", "x", "<?p?>")
        )
        text = prolog + text + random.choice((" ", "x", "<b/>", "<!-- c -->", ""))
    return text


def _element(random: Random, depth: int) -> str:
    name = random.choice((*_NAMES, *_NAMES, "A", "n:a", "e"))
    attributes = "".join(
        f' {key}="{random.choice(_ATTRIBUTE_VALUES)}"'
        for key in random.sample(("x", "y", "n:z"), random.randint(1, 2) if random.random() < 0.3 else 0)
    )
    draw = random.random()
    if depth and draw < 0.1:
        return f"<{name}{attributes}/>"
    if depth > 3 or (depth and draw < 0.6):
        return f"<{name}{attributes}>{random.choice(_VALUES)}</{name}>"
    space = random.choice(("", "", "\n  "))
    parts = [
        random.choice(_VALUES) if random.random() < 0.08 else _element(random, depth + 1)
        for _ in range(random.randint(0, 5))
    ]
    return f"<{name}{attributes}>{space}{space.join(parts)}{space}</{name}>"
