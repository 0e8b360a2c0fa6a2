"""Runs of simulations with seeds: the sum of their outcomes, and the seed that has found a bug."""

import argparse
from collections.abc import Callable, Iterable
from typing import Self, TypeVar

import msgspec


class Bug(AssertionError):
    """What a seed has found."""


class Sums(msgspec.Struct):
    """Counts of what has happened in some seeds; each field can be added to that of another seed."""

    def add(self, other: Self) -> None:
        """Add what has happened in another seed."""
        for field in self.__struct_fields__:
            setattr(self, field, getattr(self, field) + getattr(other, field))


Outcomes = TypeVar("Outcomes", bound=Sums)


def run_seeds(run: Callable[[int], Outcomes], seeds: Iterable[int], total: Outcomes) -> tuple[int, Outcomes]:
    """Run seeds, and return their number and the sum of their outcomes, which is ``total``. An error becomes
    a :class:`Bug` that names the seed."""
    count = 0
    for seed in seeds:
        try:
            outcome = run(seed)
        except Exception as error:
            raise Bug(f"seed {seed}: {type(error).__name__}: {error}") from error
        count += 1
        total.add(outcome)
    return count, total


def seed_parser(description: str) -> argparse.ArgumentParser:
    """A parser of a campaign's arguments: how many seeds, and the first one."""
    parser = argparse.ArgumentParser(description=description.split("\n", 1)[0])
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    return parser
