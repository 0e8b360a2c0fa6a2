"""The quick way through Arrow's reader and the tokenizer give the same fields of random texts, wherever the
look at the bytes trusts the quick way."""

import random

from sqlfront_connectors.files.csv.agreement import arrow_columns, row_count
from sqlfront_connectors.files.csv.lines import data_lines, header_line, lines_of
from sqlfront_engine.testing import CountingMemory
from sqlfront_values.functions.csv.settings import CsvSettings, csv_settings
from sqlfront_values.functions.csv.wide_separators import tokenizer_of

TEXTS = 4000
OPTIONS = {
    "header": ("true",),
    "multiLine": ("true",),
    "escape": ('"', "'", ""),
    "quote": ("'",),
    "sep": (";", "\t"),
    "comment": ("#",),
    "nullValue": ("N", "a"),
    "emptyValue": ("E",),
}

Row = tuple[str | None, ...]


def test_both_ways_read_the_same_fields() -> None:
    source = random.Random("ways")
    quick = 0
    for _ in range(TEXTS):
        options = {key: source.choice(values) for key, values in OPTIONS.items() if source.random() < 0.2}
        settings, width = csv_settings(options), source.randint(1, 3)
        content = _text(source, settings, width).encode()
        batches = arrow_columns(content, settings, width, list(range(width)), CountingMemory())
        if batches is not None:
            quick += 1
            found = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
            assert found == _by_tokenizer(content, settings, width), (content, options)

    assert quick > TEXTS / 10


def test_counted_lines_are_those_with_records() -> None:
    source = random.Random("lines")
    for _ in range(TEXTS):
        settings = csv_settings({"header": source.choice(("true", "false"))})
        content = "".join(source.choices(("a", "\n", " ", "\t", ",", "\x0b", "é"), k=9)).encode()
        count = row_count(content, settings)
        assert count is None or count == len(_by_tokenizer(content, settings, 1)), content


def _text(source: random.Random, settings: CsvSettings, width: int) -> str:
    sep, quote = settings.dialect.sep, settings.dialect.quote
    inside = (
        "a",
        "",
        f"a{sep}b",
        "a\\b",
        f"a{quote}{quote}b",
        "x\ny",
        " ",
        "\\\\",
        f"a\\{quote}",
        sep,
        quote,
    )
    fields = [f"{quote}{text}{quote}" for text in inside]
    fields += ["a", "1", "N", "", "b c", " ", "é", "#", "\\", f"a{quote}", "\t"]
    chosen = source.sample(fields, source.randint(1, 6))
    end = source.choice(("\n", "\n", "\r\n", "\r"))
    lines = [sep.join(source.choices(chosen, k=width)) for _ in range(source.randint(1, 5))]
    return end.join(lines) + source.choice(("", end, end + end))


def _by_tokenizer(content: bytes, settings: CsvSettings, width: int) -> list[Row]:
    tokenizer = tokenizer_of(settings)
    if settings.several_lines:
        records = list(tokenizer.records(content.decode()))[1 if settings.header else 0 :]
    else:
        lines = lines_of(content, settings)
        head = header_line(lines, settings) if settings.header else None
        if head is not None:
            tokenizer.line(head)
        records = [tokenizer.line(line) or [] for line in data_lines(lines, settings)]
    null = settings.dialect.null_value
    padded = [(*record, *([null] * width))[:width] for record in records]
    return [tuple(None if field == null else field for field in record) for record in padded]


def test_a_separator_that_overlaps_itself_is_found_from_the_left() -> None:
    settings = csv_settings({"lineSep": "aa"})

    assert list(lines_of(b"1aaa", settings)) == ["1", "a"]
    assert list(lines_of(b"1aaaa", settings)) == ["1", ""]
