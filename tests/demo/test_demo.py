"""The demo gives Spark's answers, takes the lanes that it promises, and runs as a command."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.demo.statements import DEMO, is_query, statements
from tests.oracle import slt
from tests.oracle.answers import Answer, difference
from tests.oracle.slt import Record
from tests.oracle.subject import Subject

ROOT = DEMO.parent
QUERIES = [record for record in slt.read(Path(__file__).parent / "flights.slt") if record.is_query]
LOOKUP = (
    "SELECT month, day, carrier, flight, dest, dep_delay FROM flights WHERE tailnum = 'N14228' AND month = 7"
)

pytestmark = pytest.mark.xdist_group("demo")  # one worker writes the Parquet files and fills the memory table


@pytest.fixture(scope="module")
def project_folder() -> Iterator[Path]:
    """The folder from which the demo is run, with the demo's files in place."""
    before = Path.cwd()
    os.chdir(ROOT)
    try:
        subprocess.run([sys.executable, DEMO / "prepare.py"], check=True, capture_output=True, timeout=120)
        yield ROOT
    finally:
        os.chdir(before)


@pytest.fixture(scope="module")
def subject(project_folder: Path) -> Iterator[Subject]:
    """sqlfront after the demo's statements that prepare tables."""
    with Subject() as subject:
        for statement in statements():
            if statement.split(maxsplit=1)[0] in ("CREATE", "CACHE"):
                assert subject.answer(statement) == Answer((), ()), statement
        yield subject


def test_the_stored_answers_are_to_the_demos_queries() -> None:
    assert [record.sql for record in QUERIES] == [text for text in statements() if is_query(text)]


def test_the_demo_has_twelve_queries_and_more() -> None:
    assert len(QUERIES) >= 12


@pytest.mark.parametrize("record", QUERIES, ids=lambda record: record.place)
def test_query_gives_sparks_answer(subject: Subject, record: Record) -> None:
    assert record.expected is not None

    got = subject.answer(record.sql)

    assert difference(record.expected, got, ordered=record.ordered, approximate=record.approximate) is None


@pytest.mark.parametrize(
    ("query", "lane", "read"),
    [
        (LOOKUP, "direct", "MemoryScan: flights, one key"),
        (
            "SELECT carrier, flight FROM flights WHERE tailnum IS NULL",
            "light",
            "MemoryScan: flights, one key",
        ),
    ],
)
def test_lookup_by_key_reads_that_key_alone(subject: Subject, query: str, lane: str, read: str) -> None:
    """A null key is a key; many rows take a job."""
    plan = subject.answer(f"EXPLAIN {query}")

    assert isinstance(plan, Answer)
    text = plan.rows[0][0].lstrip("'")
    assert text.startswith(f"lane: {lane} (")
    assert read in text
    assert "partitions 1 of " in text


def test_join_is_a_light_job(subject: Subject) -> None:
    plan = subject.answer("EXPLAIN " + QUERIES[1].sql)

    assert isinstance(plan, Answer)
    assert plan.rows[0][0].lstrip("'").startswith("lane: light (")


def test_the_command_prints_each_result_with_rows_time_and_lane(project_folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sqlfront", "-f", "demo/flights.sql"],
        cwd=project_folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=180,
        check=False,
    )

    assert done.returncode == 0, done.stdout[-2000:]
    footers = re.findall(r"^\d+ rows?, [\d.]+ m?s, (?:direct|light)", done.stdout, re.MULTILINE)
    assert len(footers) >= len(QUERIES)
