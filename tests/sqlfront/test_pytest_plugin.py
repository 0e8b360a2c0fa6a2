"""The fixtures of the pytest plug-in, as a project's tests see them."""

import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, blocks

pytest_plugins = ("pytester",)

#: The arguments by which pytest has the plug-in in an environment that was made before the plug-in was.
IS_INSTALLED = bool(entry_points(group="pytest11", name="sqlfront_pytest"))
PLUG_IN = () if IS_INSTALLED else ("-p", "sqlfront_pytest")

ISOLATION = """
import os, pathlib, pytest, sqlfront

SEEN = []

@pytest.mark.parametrize("turn", range(3))
def test_nothing_of_the_test_before_is_left(sqlfront_session, turn):
    assert sqlfront_session not in SEEN
    assert sqlfront_session.sql("SHOW TABLES").collect() == []
    assert sqlfront.sql("SELECT current_timezone()").collect()[0][0] == "UTC"
    assert [path for path in SEEN if isinstance(path, str) and os.path.exists(path)] == []
    assert all(session.closed for session in SEEN if not isinstance(session, str))
    sqlfront.sql("SET TIME ZONE 'Asia/Tokyo'")
    sqlfront_session.sql("CREATE TABLE t USING memory AS SELECT 1 AS a")
    sqlfront_session.sql("CREATE TABLE f USING parquet AS SELECT 1 AS a")
    SEEN.extend([sqlfront_session, sqlfront_session.context.home.path()])

def test_the_fixtures_are_one_session(sqlfront_session, spark_session, sqlfront_connection):
    assert spark_session is sqlfront_session is sqlfront_connection.session
"""


@pytest.fixture(autouse=True)
def _project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester.makeini("[pytest]\nfilterwarnings = error\n")
    paths = os.pathsep.join(str(Path(ROOT, name)) for name in ("", "engine", "planner", "connectors"))
    monkeypatch.setenv("PYTHONPATH", paths)


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """Run the project's tests in a process of their own. A run in this process would make pytest forget the
    modules that the run imports, pandas' compiled ones among them, whose second import can crash the process.
    And Python's report of the crash would be lost: a run that ends directs such reports elsewhere."""
    return pytester.runpytest_subprocess(*PLUG_IN, "-p", "no:cacheprovider", *arguments, timeout=300)


def passed(pytester: pytest.Pytester, count: int) -> None:
    """Run the project's tests; all pass."""
    run(pytester).assert_outcomes(passed=count)


def test_each_test_has_a_session_of_its_own(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SQLFRONT_TIME_ZONE", "Europe/Paris")
    pytester.makepyfile(ISOLATION)

    passed(pytester, 4)


def test_the_default_session_is_back_after_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "from sqlfront.api import default_session\n"
        "BEFORE = default_session()\n"
        "def test_it(sqlfront_session): assert default_session() is sqlfront_session is not BEFORE\n"
        "def test_after(): assert default_session() is BEFORE\n"
    )

    passed(pytester, 2)


def test_the_examples_in_docs_pass(pytester: pytest.Pytester) -> None:
    examples, conftest, rows = blocks(ROOT / "docs" / "testing.md")
    pytester.makepyfile(examples.text + rows.text)
    passed(pytester, 4)

    pytester.makeconftest(conftest.text)
    pytester.makepyfile(
        "def test_it(sqlfront_session):\n"
        "    assert sqlfront_session.sql('SELECT count(*) FROM sys.members').collect()[0][0] == 3\n"
        "    assert sqlfront_session.sql('SELECT current_timezone()').collect()[0][0] == 'Europe/Paris'\n"
    )
    passed(pytester, 1)


def test_a_test_that_fails_closes_its_session(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "SEEN = []\n"
        "def test_it(sqlfront_session):\n    SEEN.append(sqlfront_session)\n    assert False\n"
        "def test_after():\n    assert SEEN[0].closed\n"
    )

    run(pytester).assert_outcomes(passed=1, failed=1)


def test_the_plug_in_loads_nothing_until_a_test_asks() -> None:
    program = (
        "import sys, sqlfront_pytest; print([m for m in sys.modules if re.match('sqlfront|pyarrow', m)])"
    )
    printed = subprocess.check_output([sys.executable, "-c", f"import re; {program}"], text=True, timeout=120)

    assert printed == "['sqlfront_pytest']\n"


def test_the_entry_point_is_the_plug_in() -> None:
    text = (ROOT / "pyproject.toml").read_text("utf-8")

    assert re.search(r"\[project.entry-points.pytest11\]\nsqlfront_pytest = \"sqlfront_pytest\"\n", text)


@pytest.mark.doors
def test_workers_of_xdist_have_sessions_of_their_own(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(ISOLATION.replace("range(3)", "range(40)"))

    run(pytester, "-n", "2").assert_outcomes(passed=41)
