"""A session beside one of Spark Connect: the same tests, in a process of their own."""

from pathlib import Path

import pytest

from tests.programs import assert_passed_over_connect

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]


def test_copies_and_lanes_are_the_same_over_spark_connect() -> None:
    folder = Path(__file__).parent
    names = ("copies", "names", "mixed", "attached", "errors_of_both", "durable_targets")
    files = [folder / f"test_{name}.py" for name in names]
    assert_passed_over_connect(files, "-k", "not tpch and not crash_points")
