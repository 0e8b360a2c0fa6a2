"""Runs of simulations with seeds: the sum of their outcomes, and the seed that has found a bug."""

import argparse
import gc
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
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


@contextmanager
def collected_by_hand() -> Iterator[None]:
    """A context in which Python collects garbage only in :func:`gc.collect`, and only what is made within.

    A job that nobody refers to any more stops when it is collected. By itself Python does that at a time that
    depends on all that the process has done before, so that a seed had different histories."""
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def run_seeds(run: Callable[[int], Outcomes], seeds: Iterable[int], total: Outcomes) -> tuple[int, Outcomes]:
    """Run seeds, and return their number and the sum of their outcomes, which is ``total``. An error becomes
    a :class:`Bug` that names the seed."""
    count = 0
    for seed in seeds:
        found = _run_seed(run, seed)
        if isinstance(found, str):
            raise Bug(found)
        count += 1
        total.add(found)
    return count, total


# ---- campaigns


def seed_parser(description: str) -> argparse.ArgumentParser:
    """A parser of a campaign's arguments: how many seeds, the first one, and how many processes."""
    parser = argparse.ArgumentParser(description=description.split("\n\n", 1)[0])
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes among which the seeds are divided")
    return parser


def campaign(
    run: Callable[[int], Outcomes],
    options: argparse.Namespace,
    total: Outcomes,
    summary: Callable[[Outcomes], str],
) -> int:
    """Run the seeds of a command line, print the bugs as they are found and the ``summary`` of the sum of all
    outcomes, which is ``total``, and return the exit code: 1 if there was a bug. ``run``: can be pickled."""
    logging.disable(logging.CRITICAL)
    began = time.perf_counter()
    seeds = range(options.first, options.first + options.seeds)
    bugs = 0
    for found in _each(partial(_run_seed, run), seeds, options.jobs):
        if isinstance(found, str):
            bugs += 1
            print(found, flush=True)
        else:
            total.add(found)
    seconds = time.perf_counter() - began
    print(f"{len(seeds)} seeds in {seconds:.0f} s ({60 * len(seeds) / seconds:.0f} a minute), {bugs} bugs")
    print(summary(total))
    return int(bugs > 0)


def _each(run: Callable[[int], Outcomes | str], seeds: range, jobs: int) -> Iterator[Outcomes | str]:
    if jobs == 1:
        yield from map(run, seeds)
        return
    with get_context("spawn").Pool(jobs, partial(logging.disable, logging.CRITICAL)) as pool:
        yield from pool.imap_unordered(run, seeds, chunksize=8)


def _run_seed(run: Callable[[int], Outcomes], seed: int) -> Outcomes | str:
    """Return the outcome of a seed, or the bug that it has found."""
    try:
        with collected_by_hand():
            outcome = run(seed)
            gc.collect()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is a bug that is reported
        return f"seed {seed}: {type(error).__name__}: {error}"
    return outcome
