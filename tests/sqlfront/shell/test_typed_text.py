"""Texts of the prompt: statements, completeness, variables, secrets."""

import random

import pytest

from sqlfront.shell.interactive.text.secrets import is_private
from sqlfront.shell.interactive.text.statements import is_complete, typed_pieces
from sqlfront.shell.interactive.text.tokens import text_tokens
from sqlfront_planner.script import is_complete as script_is_complete
from sqlfront_planner.script import placed_statements

COMPLETE = [
    "",
    "  -- only a comment",
    "select 1;",
    "select 1; -- done",
    "select ';' as \";\";",
    "select `;` from t;",
    "select 1 /* ; */;",
    r"\d",
    r"select 1; \watch 2",
    "begin select 1; end;",
    "begin if a then select 1; end if; while b do select case when 1 then 2 end; end while; end;",
    "outer: begin loop select 1; end loop; end outer;",
    "select case when a then 1 end from t;",
    "drop table if exists t;",
    "select $$ ; $$;",
]
INCOMPLETE = [
    "select 1",
    "select ';",
    'select ";',
    "select `;",
    "select 1 /* ;",
    "select 1; select 2",
    "begin select 1;",
    "begin if a then select 1; end if;",
    "begin case a when 1 then select 1; end case;",
    "select 1 -- ;",
    "select $$ ;",
]


@pytest.mark.parametrize("text", COMPLETE)
def test_enter_runs_a_complete_text(text: str) -> None:
    assert is_complete(text)


@pytest.mark.parametrize("text", INCOMPLETE)
def test_enter_continues_an_incomplete_text(text: str) -> None:
    assert not is_complete(text)


def test_pieces_are_statements_and_the_lines_of_commands_with_their_places() -> None:
    text = "select 1; \\x on\nselect\n 2; ; \\! echo it's\n select 3"

    pieces = list(typed_pieces(text))

    assert [(piece.text, piece.is_command, piece.ended) for piece in pieces] == [
        ("select 1", False, True),
        (r"\x on", True, True),
        ("select\n 2", False, True),
        (r"\! echo it's", True, True),
        ("select 3", False, False),
    ]
    assert all(text.startswith(piece.text, piece.start) for piece in pieces)


PARTS = ["select", "begin", "end", "case", "if", "loop", ";", "'", '"', "`", "/*", "*/", "--", "\n", " "]
PARTS += ["(", ")", "é", "日本", "\u202e", "\x00", "\ud800", "1e", ".", ",", "with", "from", "t", "${a}"]
PARTS += [":a", "x'", "\\", "$$"]
#: What the splits depend on, without the backslash of a command.
BOUNDARIES = [part for part in PARTS if part != "\\"] + ["/* ; */", "*", "/", "*/*", ":", "a", "r'", "$a$"]
BOUNDARIES += ["while", "do", "then", "else", "repeat", "until", "for", "\\\n", "'\\'", ";", ";", " ", " "]


def test_the_prompt_and_scripts_split_alike() -> None:
    """Without hints, which scripts take for a statement's begin only with a word behind."""
    chance = random.Random(7)
    for _ in range(3_000):
        text = "".join(chance.choices(BOUNDARIES, k=chance.randrange(1, 25)))
        if "/*+" in text or any(piece.is_command for piece in typed_pieces(text)):
            continue
        pieces = [(piece.start, piece.ended) for piece in typed_pieces(text)]
        assert pieces == [(each.start, each.ended) for each in placed_statements(text)], text
        assert is_complete(text) is script_is_complete(text), text


def test_no_text_is_too_odd() -> None:
    """Random texts of the lexer's corner stones: pieces don't overlap, come in order, and hold all tokens."""
    chance = random.Random(18)
    for _ in range(1_500):
        text = "".join(chance.choices(PARTS, k=chance.randrange(1, 25)))
        behind = 0
        for piece in typed_pieces(text):
            assert piece.start >= behind
            assert text.startswith(piece.text, piece.start)
            behind = piece.start + len(piece.text)
        is_complete(text)
        assert all(token.start < token.end for token in text_tokens(text))


@pytest.mark.parametrize(
    "text",
    [
        r"\set id 7",
        "  select 1;",
        "create table t using jdbc options (url 'jdbc:postgresql://me:pw@host/db')",
        "create table t using jdbc options (password 'x')",
        "set spark.hadoop.fs.s3a.secret.key = 'x'",
        "select aes_decrypt(a, 'key') from t",
    ],
)
def test_a_text_with_a_secret_is_private(text: str) -> None:
    assert is_private(text)


@pytest.mark.parametrize(
    "text", ["select 1;", "select * from t where url = 'http://host/a@b';", r"\d secrets"]
)
def test_other_texts_are_not_private(text: str) -> None:
    assert not is_private(text)
