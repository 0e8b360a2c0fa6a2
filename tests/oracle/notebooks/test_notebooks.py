"""Every statement of the notebooks on sqlfront: Spark's answer, or in the strict list of gaps."""

import pytest

from tests.oracle import slt
from tests.oracle.notebooks import gaps
from tests.oracle.notebooks.runs import NOTEBOOKS, Verdict, run
from tests.oracle.subject import Subject

GAPS = gaps.read()


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_statements_are_sparks_or_known_gaps(name: str) -> None:
    told = []
    with Subject() as subject:
        for statement in run(NOTEBOOKS[name], subject):
            known = gaps.gap(statement) in GAPS
            if known and statement.verdict is Verdict.NATIVE:
                told.append(f"{statement.record.place} is a gap no more: take it out of gaps.txt")
            if not known and statement.verdict is not Verdict.NATIVE:
                told += [f"{statement.record.place} {statement.verdict.name.lower()}", statement.detail]

    if told:
        pytest.fail("\n".join(told), pytrace=False)


def test_gaps_name_statements() -> None:
    own = {name: [each for each in records if each.only != slt.SPARK] for name, records in NOTEBOOKS.items()}
    names = {
        (name.removesuffix(".slt"), at + 1) for name, records in own.items() for at in range(len(records))
    }

    assert set(GAPS) <= names


def test_there_are_sixty_notebooks() -> None:
    assert len(NOTEBOOKS) == 60
