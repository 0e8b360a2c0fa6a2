"""A few files of the generator; ``make fuzz`` reads more."""

from pathlib import Path

import pytest

from tests.fuzz.archives import make, read


@pytest.mark.parametrize("index", range(6))
def test_a_small_file_is_read_in_bounded_memory(tmp_path: Path, index: int) -> None:
    outcome = read(tmp_path, make(tmp_path, 2, index))

    assert not outcome.fault, outcome
