"""A few files of the generator; ``make fuzz`` reads more, such as the file 1, which takes half a minute."""

from pathlib import Path

import pytest

from tests.fuzz.archives import make, read


@pytest.mark.parametrize("index", (0, 2, 3, 4, 5))
def test_a_small_file_is_read_in_bounded_memory(tmp_path: Path, index: int) -> None:
    outcome = read(tmp_path, make(tmp_path, 2, index))

    assert not outcome.fault, outcome
