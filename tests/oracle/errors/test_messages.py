"""The words of sqlfront's errors, and with them the parameters of the conditions, are Spark's."""

from tests.oracle.errors.comparison import GAPS, compare, shown


def test_words_of_all_stored_errors() -> None:
    """Gaps that are closed leave the file."""
    different, same = compare()

    told = "\n".join(f"{shown(record)}\n{texts}" for record, texts in different.items())
    assert [shown(record) for record in different] == GAPS.read_text(encoding="utf-8").splitlines(), told
    assert same.total() > 150
