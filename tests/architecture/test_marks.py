"""No test is lost by its marks: what the test command leaves out, a target of the Makefile runs."""

import pytest

from tests.architecture import marks
from tests.architecture.marks import Run, Variant


def test_every_test_is_run_by_some_command() -> None:
    commands = [marks.default_run(), *marks.runs_of_the_makefile()]
    lost = [
        f"{variant.path}::{variant.name} {sorted(variant.marks)}"
        for variant in marks.variants()
        if not any(command.has(variant) for command in commands)
    ]

    assert lost == []


def test_marked_tests_are_found() -> None:
    """Nothing lost says little where nothing is found: each mark has its tests, and each way to set it."""
    found = set(marks.variants())

    assert {mark for variant in found for mark in variant.marks} == marks.LANES
    path, name = "tests/values/casts/test_casts.py", "test_the_stored_answers_are_sparks"
    assert {variant.marks for variant in found if (variant.path, variant.name) == (path, name)} == {
        frozenset(["spark"]),
        frozenset(["spark", "cluster"]),
    }


@pytest.mark.parametrize(
    ("path", "given", "runs"),
    [
        ("tests/a/test_b.py", {"cluster", "spark"}, True),
        ("tests/a/test_b.py", {"cluster"}, False),
        ("tests/ab/test_b.py", {"cluster", "spark"}, False),
        ("tests/c/test_d.py", {"cluster", "spark"}, True),
    ],
)
def test_a_command_runs_the_marks_of_its_files(path: str, given: set[str], runs: bool) -> None:
    command = Run("cluster and spark", ("tests/a", "tests/c/test_d.py"))

    assert command.has(Variant(path, "test_x", frozenset(given))) is runs
