"""Runs of a simulation under many seeds, with faults planted into the code or without."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, TypeVar

import pytest

#: The end of the search for a seed that finds a planted fault.
SEEDS: Final = 2000

Found = TypeVar("Found")
#: A fault: a function that plants it into the code.
Plant = Callable[[pytest.MonkeyPatch], None]


def runs(folder: Path, seeds: range, simulate: Callable[[Path, int], Found]) -> Iterator[Found]:
    """Run the simulation under each seed, in a folder of its own, and yield what it returns. An error of a
    run has a note that names the seed."""
    for seed in seeds:
        place = folder / str(seed)
        place.mkdir()
        try:
            yield simulate(place, seed)
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise


def check_found(folder: Path, first: int, simulate: Callable[[Path, int], object]) -> None:
    """AssertionError unless a seed from ``first`` on shows a fault that is planted: the simulation fails."""
    try:
        for _ in runs(folder, range(first, SEEDS), simulate):
            pass
    except Exception as error:  # noqa: BLE001 - any error shows the fault
        print(f"found by {error.__notes__[-1]}")
    else:
        raise AssertionError("no seed finds the fault")


def planted(faults: Mapping[Plant, int]) -> pytest.MarkDecorator:
    """Parametrize a test by ``plant`` and ``first``: the faults, and for each the seed to begin with."""
    names = [plant.__name__.strip("_").replace("_", " ") for plant in faults]
    return pytest.mark.parametrize(("plant", "first"), faults.items(), ids=names)
