"""Texts for operators: no literal, comment or password is left, and names are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlfront.observability.masking import TEXT_LENGTH, kept, masked, masked_reason

SECRET = "hunter2x"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT 1", "SELECT ?"),
        ("SELECT -1.5e-3, 2L, .5, t1.c2 FROM t1", "SELECT -?, ?, .?, t1.c2 FROM t1"),
        ("SELECT 'it''s', \"x\"", "SELECT ??, ?"),
        ("SELECT r'\\', 'b'", "SELECT ?, ?"),
        ("SELECT 'a\\'b', c", "SELECT ?, c"),
        ("SELECT `a 'b' 1` FROM t", "SELECT `a 'b' 1` FROM t"),
        ("SELECT a /* x /* y */ 'z' */ FROM t", "SELECT a   FROM t"),
        ("SELECT a -- 'x\nFROM t", "SELECT a \nFROM t"),
        ("SELECT :name, ? FROM t", "SELECT :name, ? FROM t"),
        ("set a.b = c d", "set a.b =?"),
        ("SET TIME ZONE 'UTC'", "SET TIME ZONE ?"),
        ("ADD FILE s3://u:p@h/x", "ADD FILE s3://?@h/x"),
        ("SELECT * FROM csv.`https://h/x?sig=abc`", "SELECT * FROM csv.`https://h/x??`"),
        ("ADD FILE https://h/x?sig=abc&k=v", "ADD FILE https://h/x??"),
        ("ADD JAR https://h/p/me@2/x", "ADD JAR https://?@?/x"),
        ("REFRESH s3://me:p/w@bucket/x 'a'", "REFRESH s3://?@bucket/x ?"),
        ("REFRESH s3://me:p?w@bucket/x", "REFRESH s3://?"),
        ("REFRESH s3://bucket/day=7/x.csv", "REFRESH s3://bucket/day=?/x.csv"),
        ("SELECT * FROM jdbc.`x://h;password=abc`, `a;b?c`", "SELECT * FROM jdbc.`x://h;?`, `a;b?c`"),
        ("SELECT * FROM csv.`s3://me:p/w ' x@bucket/a 1`", "SELECT * FROM csv.`s3://?@bucket/a 1`"),
        ("SELECT a ://* abc */ b", "SELECT a :/  b"),
        ("EXPLAIN SET a=abc", "EXPLAIN SET a=?"),
        ("explain extended set\na =abc", "explain extended set\na =?"),
        ("EXPLAIN (ANALYZE, FORMAT JSON) SET a=abc", "EXPLAIN (ANALYZE, FORMAT JSON) SET a=?"),
        ("EXPLAIN SELECT set = b", "EXPLAIN SELECT set = b"),
        ("SELECT X'1F', DATE '2020-01-01'", "SELECT X?, DATE ?"),
        ("", ""),
    ],
)
def test_of_a_text_the_names_are_left(text: str, expected: str) -> None:
    assert masked(text) == expected


#: Parts of statements, in which {} is the place of a secret.
HIDING = (
    "'{}'", '"{}"', "r'{}\\'", 'R"{}"', "'a\\'{}'", "'''{}'", "/* {} */", "/* /* */ {} */", "/*+ {} */",
    "-- {}\n", "-- a\\\n{}\n", "X'{}'", "`s3://me:{}@host/x`", "`https://host/x?sig={}`", "12{}",
    "'{}", '"{}', "/* {}", "s3://me:{}@h/x", "s3://me:a/{}@h", "https://h/x?s={}&a", "x://h;p={}",
)  # fmt: skip
PLAIN = (
    "SELECT",
    "a",
    "`b c`",
    "FROM t1",
    ",",
    "=",
    "(",
    ")",
    "1",
    "?",
    ":p",
    "'x'",
    "''",
    "r'\\'",
    "/* y */",
    "\n",
    "`q``r`",
)


@given(
    st.lists(st.sampled_from(PLAIN)),
    st.sampled_from(HIDING),
    st.lists(st.sampled_from(PLAIN)),
    st.integers(0, 60),
)
def test_a_secret_is_hidden_wherever_it_stands_and_the_text_is_cut(
    before: list[str], hiding: str, after: list[str], cut: int
) -> None:
    text = " ".join([*before, hiding.replace("{}", SECRET), *after])

    assert SECRET not in masked(text)
    assert SECRET[:6] not in masked(f"{text[:cut]}…")


def test_a_long_text_is_cut_before_it_is_kept() -> None:
    text = "SELECT '" + SECRET * 10_000 + "'"

    assert len(kept(text)) == TEXT_LENGTH
    assert masked(kept(text)) == "SELECT ?"


def test_a_long_text_is_masked_in_linear_time() -> None:
    for part in ("'", '"', "`", "/*", "--", "1", "a", "://", "\\", "r'", "(", "://a", "set =", "1e+"):
        assert len(masked(kept(part * TEXT_LENGTH))) <= 3 * TEXT_LENGTH


def test_a_reason_keeps_no_quoted_value() -> None:
    assert (
        masked_reason(f"the value '{SECRET}' and \"{SECRET}\": 3 rows of `t`")
        == "the value ? and ?: 3 rows of `t`"
    )
    assert SECRET not in masked_reason(f"the value '{SECRET}")
