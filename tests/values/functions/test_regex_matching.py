"""The three matchers agree: Python's ``re``, the library ``regex``, and RE2 over columns; and none runs on
for ever."""

import random
import threading
import time

import pyarrow as pa
import pytest

import sqlfront
from sqlfront_values import room
from sqlfront_values.errors import Error, NotSupportedError, OperationalError
from sqlfront_values.functions.text.patterns import re2, regex_matching
from sqlfront_values.functions.text.patterns.java_regex import InvalidPatternError, java_pattern
from tests.values.functions.kernel_cases import run

ATOMS = ("a", "b", "ab", ".", r"\d", r"\w", r"\s", "[ab]", "[^a]", "[a-c]", r"\.", "1", " ", r"\W", "(a)")
RARE = ("(b|c)", "(?:ab|a)", "(a|ab)(c|bcd)", "$", "^", r"\b", r"\p{Alpha}", r"\R", "x{2}")
QUANTIFIERS = ("", "", "", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,3}", "{2,}")
GROUPS = ("(", "(?:", "(?=", "(?!", "(?<=a")
CHARACTERS = "aabbccx1 .\n\r-_AB"


def random_pattern(chosen: random.Random, depth: int = 0) -> str:
    """A pattern of Java's: atoms, quantifiers, groups, look-around, alternatives."""
    parts = []
    for _ in range(chosen.randint(1, 4)):
        if depth < 2 and chosen.random() < 0.2:
            atom = f"{chosen.choice(GROUPS)}{random_pattern(chosen, depth + 1)})"
        else:
            atom = chosen.choice(ATOMS if chosen.random() < 0.7 else RARE)
        parts.append(atom + chosen.choice(QUANTIFIERS))
    if depth < 2 and chosen.random() < 0.15:
        parts += ["|", random_pattern(chosen, depth + 1)]
    return "".join(parts)


def random_text(chosen: random.Random, characters: str) -> str:
    return "".join(chosen.choices(characters, k=chosen.randint(0, 14)))


@pytest.mark.parametrize("seed", range(6))
def test_the_library_finds_what_python_finds(seed: int) -> None:
    chosen, compared = random.Random(seed), 0
    while compared < 150:
        try:
            pattern = java_pattern(random_pattern(chosen))
        except (InvalidPatternError, NotSupportedError):
            continue
        if pattern.nested:  # Python's matcher might not come back
            continue
        compared += 1
        compiled = regex_matching._compiled(pattern.python)
        for _ in range(12):
            text = random_text(chosen, CHARACTERS + "éß٣\u2028")
            there = [(found.span(), found.groups()) for found in compiled.finditer(text)]
            assert there == [(found.span(), found.groups()) for found in pattern.compiled.finditer(text)]


@pytest.mark.parametrize(
    "characters", [CHARACTERS, "aabbccx1 .-_AB", "abé1 "], ids=["lines", "plain", "letters"]
)
@pytest.mark.parametrize("function", ["rlike", "regexp_count", "regexp_instr", "regexp_extract", "split"])
def test_columns_give_what_single_texts_give(function: str, characters: str) -> None:
    chosen = random.Random(f"{function} {characters}")
    for _ in range(120):
        pattern = pa.scalar(random_pattern(chosen))
        texts = [random_text(chosen, characters) for _ in range(12)]
        try:
            singly = [run(function, pa.scalar(text), pattern).as_py() for text in texts]
        except Error:
            continue
        assert run(function, pa.array(texts), pattern).to_pylist() == singly, (pattern, texts)


HARMFUL = ("^(?=a)(a|aa)+$", "(?<=a)(a|aa)+$", "^(?=a)(?:aa|a)+?$")
LONG = "a" * 60 + "!"


@pytest.mark.parametrize("pattern", HARMFUL)
def test_a_pattern_that_takes_for_ever_is_an_error(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex_matching, "_TRIES", 3)
    with pytest.raises(OperationalError, match="tries too many ways to match"):
        regex_matching.search(java_pattern(pattern), LONG)
    with pytest.raises(OperationalError, match="tries too many ways to match"):
        list(regex_matching.find_all(java_pattern(pattern), LONG))


def test_a_stopped_query_stops_matching(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[None] = []

    def is_stopped() -> bool:
        asked.append(None)
        return len(asked) > 1

    room.occupy(None, is_stopped)
    try:
        with pytest.raises(room.StoppedError):
            regex_matching.search(java_pattern(HARMFUL[0]), LONG)
    finally:
        room.occupy(None, None)
    assert len(asked) == 2


def test_other_threads_go_on_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex_matching, "_TRIES", 5)
    ended, steps = threading.Event(), 0

    def match() -> None:
        with pytest.raises(OperationalError):
            regex_matching.search(java_pattern(HARMFUL[0]), LONG)
        ended.set()

    thread = threading.Thread(target=match)
    thread.start()
    while not ended.wait(0.005):
        steps += 1
    thread.join()
    assert steps > 5


def test_without_the_library_only_long_texts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regex_matching, "find_spec", lambda name: None)
    pattern = java_pattern("([a-z]+)-(?=x)")
    assert regex_matching.search(pattern, "ab-x") is not None
    with pytest.raises(NotSupportedError, match="pip install regex"):
        regex_matching.search(pattern, "ab-x" * 1000)


def test_a_job_on_the_callers_thread_keeps_its_timeout() -> None:
    with sqlfront.connect(workers=1) as connection:
        connection.execute(f"CREATE TABLE t USING memory AS SELECT '{LONG}' AS s, id FROM range(3000)")
        began = time.monotonic()
        sql = f"SELECT count(*) FROM t WHERE concat(s, id) RLIKE '{HARMFUL[0]}'"
        with pytest.raises(OperationalError, match="ran longer than its timeout"):
            connection.execute(sql, timeout=0.3)
        assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    "pattern, nested",
    [
        ("a*b+", False),
        ("(a|b)?c", False),
        ("(ab){2}", False),
        ("(a|aa)+", True),
        ("(a*)*", True),
        ("(?:a?){50}", True),
        ("a?" * 30 + "a" * 30, True),
    ],
)
def test_patterns_that_may_take_exponential_time_are_known(pattern: str, nested: bool) -> None:
    java = java_pattern(pattern)
    assert java.nested == nested
    assert (java.safe_length == 0) == nested


def test_a_pattern_that_is_too_large_for_re2_is_left_to_python() -> None:
    pattern = "(((a{1,1000}){1,1000}){1,1000})"
    assert java_pattern(pattern).linear is None
    assert run("rlike", pa.array(["aaa"] * 9), pa.scalar(pattern)).to_pylist() == [True] * 9


@pytest.mark.parametrize("rows", [1, 9])
def test_an_empty_repetition_empties_its_group(rows: int) -> None:
    """Spark's answers; RE2 keeps the repetition before."""
    texts, pattern = pa.array(["baaab"] * rows), pa.scalar("[a-c]{2}[ab]{2}([ab]?)*")
    assert run("regexp_extract", texts, pattern).to_pylist() == [""] * rows
    assert run("regexp_replace", texts, pattern, pa.scalar("<$1>")).to_pylist() == ["<>"] * rows


@pytest.mark.parametrize("seed", range(3))
def test_a_column_matched_by_slices_is_matched_as_a_whole(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = random.Random(seed)
    texts = [random_text(chosen, "abc1 .") if chosen.random() < 0.9 else None for _ in range(60)]
    column = pa.array(["sliced off", *texts])[1:]
    calls: list[tuple[str, list[str | int]]] = [
        ("rlike", ["a[bc]"]),
        ("rlike", ["(a|b){2,3}c"]),
        ("regexp_count", ["[ab]c?"]),
        ("regexp_instr", ["b."]),
        ("regexp_extract", ["(a)(b|c)", 2]),
        ("regexp_replace", ["a(b)", "<$1>"]),
        ("split", ["[b ]c?"]),
        ("like", ["%a_b%"]),
        ("like", ["_%b%c_%"]),
    ]

    def answers() -> list[object]:
        return [run(name, column, *map(pa.scalar, others)) for name, others in calls]

    whole = answers()
    for steps in (1, 40, 300):
        monkeypatch.setattr(re2, "_MOST_STEPS", steps)
        assert answers() == whole


def test_size_counts_what_is_repeated() -> None:
    assert java_pattern("abc").size == 4
    assert java_pattern("(ab){3}c").size == 1 + 3 * 3 + 1
    assert java_pattern("(a{1,1000}){1,10}").size > 10_000
    assert java_pattern("a{2,}b*c+").size == 5


@pytest.mark.parametrize(
    "condition",
    [
        "x RLIKE repeat('a', 65536)",
        "x RLIKE repeat('(a|b)', 500) || 'c'",
        "x LIKE repeat('a%', 3000) || 'b'",
        "x LIKE '%' || repeat('a', 60000) || '%'",
        "x LIKE '%' || repeat('a', 30000) || '%' || repeat('a', 30000) || '%'",
        "x LIKE repeat('_a%', 3000) || 'b'",
        "x ILIKE repeat('éA', 100000)",
        "contains(x, repeat('a', 60000))",
        "size(split(x, repeat('(a|b)', 500) || 'c')) > 1",
        "regexp(repeat('a', 65536), repeat('a', 65536))",
    ],
)
def test_long_patterns_over_long_texts_take_little_time(condition: str) -> None:
    """Each of them took 10 to 60 seconds of a processor's time, without asking whether to stop."""
    with sqlfront.connect() as connection:
        connection.execute("CREATE TABLE t USING memory AS SELECT repeat('a', 65536) AS x FROM range(10)")
        began = time.process_time()
        connection.execute(f"SELECT count(*) FROM t WHERE {condition}").fetchall()
        assert time.process_time() - began < 4.0
