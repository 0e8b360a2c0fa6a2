"""The tests that pages of docs name are there."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, pages

_NAMED = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")
DOCS = ROOT / "docs"


@cache
def functions(path: str) -> frozenset[str]:
    """The names of the functions of a file; none if there is no such file."""
    file = ROOT / path
    if not file.exists():
        return frozenset()
    return frozenset(
        node.name for node in ast.parse(file.read_text("utf-8")).body if isinstance(node, ast.FunctionDef)
    )


@pytest.mark.parametrize("page", [pytest.param(page, id=page.name) for page in pages()])
def test_the_tests_that_a_page_names_are_there(page: Path) -> None:
    missing = [
        f"{path}::{name}" if name else path
        for path, name in _NAMED.findall(page.read_text("utf-8"))
        if not (name in functions(path) if name else functions(path))
    ]

    assert missing == []


def rows(text: str) -> list[str]:
    """The rows of all tables of a text, without their heads."""
    lines = text.splitlines()
    ruled = [place for place, line in enumerate(lines) if line.startswith("|---")]
    heads = {*ruled, *(place - 1 for place in ruled)}
    return [line for place, line in enumerate(lines) if line.startswith("|") and place not in heads]


def test_each_promise_of_durable_jobs_has_a_test() -> None:
    text = (DOCS / "durable-jobs-tests.md").read_text("utf-8")
    table = rows(text.partition("## Failures")[2].partition("\n## ")[0])

    assert len(table) > 20
    assert [row for row in table if not _NAMED.search(row)] == []


def test_each_statement_of_the_engines_designs_has_a_test_and_says_what_differs() -> None:
    table = [row.strip("| ").split(" | ") for row in rows((DOCS / "seeds.md").read_text("utf-8"))]

    assert len(table) > 80
    assert [cells for cells in table if len(cells) != 3] == []
    assert [statement for statement, tests, _ in table if not _NAMED.search(tests)] == []
    assert [statement for statement, _, difference in table if not difference.strip()] == []
