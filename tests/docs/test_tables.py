"""The tables in docs are those of the code; `python -m tests.docs.tables` writes them."""

from pathlib import Path

import pytest

from tests.docs.tables import PAGES, with_table


@pytest.mark.parametrize("page", [pytest.param(page, id=page.name) for page in PAGES])
def test_the_options_in_docs_are_the_options(page: Path) -> None:
    text = page.read_text("utf-8")

    assert with_table(text, PAGES[page]()) == text
