"""The tables in docs are those of the code; `python -m tests.docs.tables` writes them."""

from tests.docs.tables import PAGE, with_table


def test_the_options_in_docs_are_the_options() -> None:
    text = PAGE.read_text("utf-8")

    assert with_table(text) == text
