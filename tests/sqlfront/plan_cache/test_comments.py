"""Comments and white space are no part of what a plan is found by; hints and whatever means something are."""

import itertools
from collections.abc import Iterator

import pytest

import sqlfront
from sqlfront.session import Session


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with sqlfront.connect() as connection:
        connection.execute("CREATE TEMPORARY VIEW t AS SELECT * FROM VALUES (1, 'a'), (2, 'b') AS t(k, s)")
        yield connection.session


def plans_of(session: Session, texts: list[str]) -> int:
    """How many plans are kept after the texts were run, which give the same rows."""
    session.context.plans.clear()
    answers = {str(session.execute(text).collect()) for text in texts}
    assert len(answers) == 1, answers
    return len(session.context.plans)


@pytest.mark.parametrize(
    "texts",
    [
        ["SELECT 1", "SELECT 1 -- 17", "SELECT 1 -- 18", "/* a */ SELECT 1", "SELECT /* 'b' */ 1"],
        ["SELECT k FROM t WHERE k = 1", "/* app 5 */ SELECT k FROM t WHERE k = 1 -- it's 7"],
        ["SELECT k\nFROM t\n  WHERE k = 1", "SELECT k FROM t WHERE k = 1", "SELECT\tk FROM t   WHERE k = 1 "],
        ["SELECT s FROM t WHERE s = 'a' -- 'b'", "SELECT s FROM t WHERE s = 'a'"],
        ["SELECT `k` FROM t -- x", "SELECT `k` FROM t /* y */"],
    ],
)
def test_texts_that_mean_the_same_share_a_plan(session: Session, texts: list[str]) -> None:
    assert plans_of(session, texts) == 1


@pytest.mark.parametrize(
    "texts",
    [
        ["SELECT 1 AS `a -- 1`", "SELECT 1 AS `a -- 2`"],
        ["SELECT '-- a'", "SELECT '/* a */'"],
        ["SELECT 1 AS `a  b`", "SELECT 1 AS `a b`"],
        ['SELECT "a  b"', 'SELECT "a b"'],
        ["SELECT 1 -- a\n + 1", "SELECT 1 -- a \\\n + 1"],
        ["SELECT 1 -- a\r + 1", "SELECT 1 -- a + 1"],
        ["SELECT r'\\' -- ' 1", "SELECT r'\\' -- ' 2"],
        ["SELECT '\\' -- ' , 1", "SELECT '\\' -- ' , 2"],
        ["SELECT 1 /* /* ' */ */ + 2 -- '", "SELECT 1 /* /* ' */ */ + 3 -- '"],
    ],
)
def test_texts_that_mean_something_else_do_not(session: Session, texts: list[str]) -> None:
    for order in itertools.permutations(texts):
        session.context.plans.clear()
        cached = [answer(session, text) for text in order]
        fresh = []
        for text in order:
            session.context.plans.clear()
            fresh.append(answer(session, text))
        assert cached == fresh


def answer(session: Session, text: str) -> str:
    result = session.execute(text)
    return f"{result.columns} {result.collect()}"
