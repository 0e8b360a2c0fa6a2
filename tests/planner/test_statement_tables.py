"""The saved parse tables of the statements' grammar, against tables that are computed from the grammar."""

from importlib.resources.abc import Traversable
from pathlib import Path

import lark
import pytest

from sqlfront_planner.statements import grammar_parser
from sqlfront_planner.statements.grammar_parser import build_parser, grammar_text, load_parser, save_parser

STATEMENTS = (
    "SHOW TABLES IN a.b LIKE 'x*'",
    "CREATE TABLE IF NOT EXISTS t (a INT NOT NULL COMMENT 'c', b ARRAY<STRING>) USING csv OPTIONS (sep '|')",
    "CREATE OR REPLACE TEMP VIEW v (a COMMENT 'c') AS SELECT 1",
    "INSERT INTO t (a, b) VALUES (1, 2)",
    "ALTER TABLE a.b SET TBLPROPERTIES ('k' = 'v');",
    "DESCRIBE EXTENDED a.b",
    "SET spark.sql.ansi.enabled = false",
    "DROP VIEW IF EXISTS v",
    "KILL QUERY 1",
    "CREATE JOB IF NOT EXISTS j OPTIONS (a 1) AS INSERT INTO t VALUES (1)",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in the place of the package's, with tables of a small grammar."""

    def here(package: str) -> Traversable:
        return tmp_path

    with (tmp_path / grammar_parser.TABLES_FILE).open("wb") as target:
        save_parser('start: "A"', target)
    monkeypatch.setattr(grammar_parser, "files", here)
    return tmp_path


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The grammars whose tables are computed."""
    built: list[str] = []

    def build(grammar: str) -> lark.Lark:
        built.append(grammar)
        return build_parser(grammar)

    monkeypatch.setattr(grammar_parser, "build_parser", build)
    return built


def test_the_installation_has_saved_tables_that_parse_like_computed_ones() -> None:
    loaded, computed = load_parser(grammar_text()), build_parser(grammar_text())

    assert Path(grammar_parser.__file__).with_name(grammar_parser.TABLES_FILE).exists()
    assert [loaded.parse(sql) for sql in STATEMENTS] == [computed.parse(sql) for sql in STATEMENTS]


def test_saved_tables_are_loaded(folder: Path, built: list[str]) -> None:
    assert load_parser('start: "A"').parse("A") == lark.Tree(lark.Token("RULE", "start"), [])
    assert built == []


def test_another_grammar_is_parsed_by_its_own_tables(folder: Path, built: list[str]) -> None:
    assert load_parser('start: "B"').parse("B") == lark.Tree(lark.Token("RULE", "start"), [])
    assert built == ['start: "B"']


def test_tables_of_another_version_of_lark_are_not_loaded(
    folder: Path, built: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lark, "__version__", "0")

    load_parser('start: "A"')

    assert built == ['start: "A"']


def test_without_saved_tables_they_are_computed(folder: Path, built: list[str]) -> None:
    (folder / grammar_parser.TABLES_FILE).unlink()

    load_parser('start: "A"')

    assert built == ['start: "A"']
