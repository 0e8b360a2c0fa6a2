"""A sample of random command lines."""

import pytest

from tests.fuzz.command_lines import check


@pytest.mark.parametrize("seed", range(4))
def test_a_random_command_line_ends_as_documented(seed: int) -> None:
    check(seed)
