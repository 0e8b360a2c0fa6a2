"""The tests that pages of docs name are there."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, pages

_NAMED = re.compile(r"`(tests/[\w/]+\.py)(?:::(\w+))?`")
#: A page that names a test for each promise.
PROMISES = ROOT / "docs" / "durable-jobs-tests.md"


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


def test_each_promise_has_a_test() -> None:
    table = PROMISES.read_text("utf-8").partition("## Failures")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("|")][2:]

    assert len(rows) > 20
    assert [row for row in rows if not _NAMED.search(row)] == []
