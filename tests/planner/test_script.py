"""The split of scripts: by Spark's lexer, whole or in pieces."""

import itertools
import random

import pytest

from sqlfront_planner.script import (
    ScriptSplitter,
    ScriptStatement,
    is_complete,
    placed_statements,
    split_statements,
)
from sqlfront_planner.statements.query_parser import lead
from sqlfront_planner.syntax.lexer import tokens_of
from tests.oracle.spark import SparkOracle

WORDS = [
    *("select", "begin", "end", "case", "if", "then", "r", "a", "$a$", ":", "\\", "+", "/", "*", "-"),
    *("'", '"', "`", ";", ";", "--", "\n", "/*", "*/", " ", " "),
]


def random_script(chance: random.Random) -> str:
    """Made of what the split depends on."""
    return "".join(chance.choices(WORDS, k=chance.choice((3, 8, 20))))


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("select ';', \"a;\", `b;`; select 2", ("select ';', \"a;\", `b;`", "select 2")),
        ("select 'a\\';b''c;'; select 2", ("select 'a\\';b''c;'", "select 2")),
        ("select r'\\'; select 2", ("select r'\\'", "select 2")),
        ("/* ; /* ; */ ; */ select 1; select 2", ("/* ; /* ; */ ; */ select 1", "select 2")),
        ("/* ; /*+ ; */ select 1; select 2", ("/* ; /*+ ; */ select 1", "select 2")),
        ("-- a;\nselect 1; select 2", ("-- a;\nselect 1", "select 2")),
        ("-- a \\\n; b\nselect 1; select 2", ("-- a \\\n; b\nselect 1", "select 2")),
        ("select $$a;b$$, $x$;$$;$x$; select 2", ("select $$a;b$$, $x$;$$;$x$", "select 2")),
        ("; ;; -- nothing\n; /* at all */", ()),
        ("select 'open; select 2", ("select 'open; select 2",)),
        ("a */* b; c */*/*/; /* d */* e; f", ("a */* b", "c */*/*/", "/* d */* e", "f")),
        ("'a' begin; `l`: begin x; end; b", ("'a' begin", "`l`: begin x; end", "b")),
        ("begin select 1; select 2; end; select 3", ("begin select 1; select 2; end", "select 3")),
        ("a: begin select 1; end a; select 3", ("a: begin select 1; end a", "select 3")),
        (
            "begin if x then select case when a then if(b, 1, 2) else 3 end; end if; end; select 3",
            ("begin if x then select case when a then if(b, 1, 2) else 3 end; end if; end", "select 3"),
        ),
        (
            "begin for r as select 1 do while a do select 2; end while; end for; end; select 3",
            ("begin for r as select 1 do while a do select 2; end while; end for; end", "select 3"),
        ),
        (
            "begin case when a then set b = 1; else loop set b = 2; end loop; end case; end; select 3",
            ("begin case when a then set b = 1; else loop set b = 2; end loop; end case; end", "select 3"),
        ),
        (
            "begin repeat set b = 1; until b = 1 end repeat; end; select 3",
            ("begin repeat set b = 1; until b = 1 end repeat; end", "select 3"),
        ),
    ],
)  # fmt: skip
def test_semicolons_split_outside_of_quotes_comments_and_blocks(
    script: str, expected: tuple[str, ...]
) -> None:
    assert split_statements(script) == expected


def test_a_script_in_pieces_is_split_as_the_whole() -> None:
    chance = random.Random(16)
    for _ in range(3_000):
        script = random_script(chance)
        splitter = ScriptSplitter()
        found: list[ScriptStatement] = []
        place = 0
        while place < len(script):
            size = chance.choice((1, 1, 2, 5))
            found += splitter.feed(script[place : place + size])
            place += size
        found += splitter.end()
        assert found == list(placed_statements(script)), script


def test_statements_are_where_they_say() -> None:
    chance = random.Random(17)
    for _ in range(2_000):
        script, end = random_script(chance), 0
        for statement in placed_statements(script):
            place = script.index(statement.text, end)
            end = place + len(statement.text)
            assert place <= statement.start < end, script
            assert not script[statement.start].isspace(), script
            assert statement.ended is script[end:].lstrip().startswith(";"), script


@pytest.mark.spark
def test_spark_splits_scripts_likewise(spark: SparkOracle) -> None:
    """Without backticks, raw strings, continued comments, hints, and ``*/`` outside of a comment: Spark's
    lexer knows these, and the splitter of Spark's command doesn't."""
    jvm = spark.new_session()._jvm
    assert jvm is not None
    strings = jvm.org.apache.spark.sql.catalyst.util.StringUtils
    chance = random.Random(18)
    words = [word for word in WORDS if word not in ("`", "r", "begin", "\\", "+", "$a$")]
    for _ in range(400):
        script = "".join(chance.choices([*words, "\\'", "\\\\"], k=12))
        if "*/" in tokens_of(script).kinds:
            continue
        found = strings.splitSemiColon(script, False)
        theirs = [found.apply(place) for place in range(found.size())]
        expected = [text.strip() for text in theirs if split_statements(text)]
        assert list(split_statements(script)) == expected, script


@pytest.mark.spark
def test_statements_end_at_the_semicolons_of_sparks_lexer(spark: SparkOracle) -> None:
    """Without blocks, whose semicolons the parser tells apart, and without texts that aren't closed, behind
    whose beginning Spark's lexer goes on."""
    jvm = spark.new_session()._jvm
    assert jvm is not None
    parser, streams = jvm.org.apache.spark.sql.catalyst.parser, jvm.org.antlr.v4.runtime.CharStreams
    chance, compared = random.Random(19), 0
    words = [word for word in WORDS if word != "begin"]
    for _ in range(150):
        script = "".join(chance.choices([*words, "*/*", "/*+", "'a;'", "$$;$$", "$a$"], k=8))
        lexer = parser.SqlBaseLexer(parser.UpperCaseCharStream(streams.fromString(script)))
        found = [(token.getType(), token.getStartIndex()) for token in lexer.getAllTokens()]
        if parser.SqlBaseLexer.UNRECOGNIZED in dict(found):
            continue
        ends = [place for kind, place in found if kind == parser.SqlBaseLexer.SEMICOLON]
        pairs = itertools.pairwise([-1, *ends, len(script)])
        texts = [script[before + 1 : end].strip() for before, end in pairs]
        assert list(split_statements(script)) == [text for text in texts if lead(text)], script
        compared += 1

    assert compared > 30


def test_a_statement_comes_as_soon_as_its_semicolon() -> None:
    splitter = ScriptSplitter()

    assert [found.text for found in splitter.feed("select 1; sel")] == ["select 1"]
    assert list(splitter.feed("ect 2")) == []
    assert [found.text for found in splitter.feed(";")] == ["select 2"]


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        *[
            ("", True),
            ("select 1", False),
            ("select 1;", True),
            ("select 1; -- done", True),
            ("select ';", False),
        ],
        *[("select 1; /* open", False), ("begin select 1;", False), ("begin select 1; end;", True)],
    ],
)
def test_a_text_is_complete_between_two_statements(text: str, complete: bool) -> None:
    assert is_complete(text) is complete
