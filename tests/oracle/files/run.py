"""Read many odd files by Spark and by sqlfront: ``python -m tests.oracle.files.run --count 3000 --seed 0``.

Prints per format and class of oddity how many readings are equal, refused, DIFFERENT or the DEATH of the
process that reads; each fault with what replays it: ``--format F --seed S --index I``. ``--minutes M`` goes
on with fresh seeds for that long; ``--oddity O`` leaves out the cases of other classes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from tests.oracle.files.cases import FileCase
from tests.oracle.files.generators import GENERATORS, numbered_cases
from tests.oracle.files.reading import Comparison, Reader, SparkReader, Verdict, compare
from tests.oracle.files.worker import FrontReader
from tests.oracle.spark import SparkOracle

#: Cases that Spark reads at a time, each in a thread of one session.
_AT_A_TIME = 4
#: Of twenty cases, how many are of each format: the more odd ways to write it, the more.
_SHARES = {"csv": 20 / 3, "json": 6.0, "parquet": 10 / 3, "orc": 7 / 3, "text": 5 / 3}


@dataclass(frozen=True)
class Result:
    """One case, where it stands in its generator, and what comparing its readings said."""

    seed: int
    index: int
    case: FileCase
    comparison: Comparison

    def described(self) -> str:
        """The case and what differs, for people."""
        replay = f"--format {self.case.format} --seed {self.seed} --index {self.index}"
        return f"{self.comparison.verdict.value}: {replay}\n{self.case.described()}\n{self.comparison.words}"


@dataclass
class Tally:
    """Counts of verdicts per format and class of oddity."""

    counts: dict[tuple[str, str], Counter[Verdict]] = field(default_factory=dict)
    refusals: Counter[str] = field(default_factory=Counter)

    def add(self, result: Result) -> None:
        """Count one more."""
        place = (result.case.format, result.case.oddity)
        self.counts.setdefault(place, Counter())[result.comparison.verdict] += 1
        if result.comparison.verdict is Verdict.REFUSED:
            self.refusals[f"{result.case.format}: {_reason(result.comparison.words)}"] += 1

    @property
    def faults(self) -> int:
        """How many readings have to be mended."""
        return sum(
            count
            for counter in self.counts.values()
            for verdict, count in counter.items()
            if verdict.is_fault
        )

    def lines(self) -> Iterator[str]:
        """A table: a line per class, per format and for all."""
        yield _line("format", "class", ("cases", *(verdict.value for verdict in Verdict), "native"))
        total: Counter[Verdict] = Counter()
        for name in sorted({name for name, _ in self.counts}):
            classes = {oddity: counter for (of, oddity), counter in self.counts.items() if of == name}
            together = sum(classes.values(), Counter[Verdict]())
            total += together
            for oddity in sorted(classes):
                yield _counts_line(name, oddity, classes[oddity], together.total())
            yield _counts_line(name, "all", together)
        yield _counts_line("all", "all", total)
        for reason, count in self.refusals.most_common(15):
            yield f"  refused {count} times: {reason}"


def _reason(words: str) -> str:
    """The refusal without the paths of the case."""
    return " ".join("..." if "/" in word else word for word in words.split())[:150]


def _counts_line(name: str, oddity: str, counter: Counter[Verdict], of: int | None = None) -> str:
    cases = counter.total()
    native = counter[Verdict.EQUAL] + counter[Verdict.SAME_ERROR]
    share = f"{cases} ({cases / of:.0%})" if of else str(cases)
    return _line(
        name,
        oddity,
        (share, *(str(counter[verdict]) for verdict in Verdict), f"{native / max(cases, 1):.1%}"),
    )


def _line(name: str, oddity: str, cells: Iterable[str]) -> str:
    return f"{name:8} {oddity:32} " + " ".join(f"{cell:>12}" for cell in cells)


def results(
    numbered: Iterable[tuple[int, FileCase]], seed: int, spark: Reader, front: Reader, folder: Path
) -> Iterator[Result]:
    """Compare the cases, some at a time, in their order."""

    def one(numbered_case: tuple[int, FileCase]) -> Result:
        index, case = numbered_case
        name = f"{case.format}_{seed}_{index}"
        return Result(seed, index, case, compare(case, spark, front, folder / name, name))

    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        yield from pool.map(one, numbered)


def sample(formats: Iterable[str], seed: int, count: int, spark: SparkOracle, folder: Path) -> list[Result]:
    """The first ``count`` cases of each format, compared."""
    with FrontReader() as front:
        reader = SparkReader(spark.begin_file())
        return [
            result
            for name in formats
            for result in results(numbered_cases(name, seed, count), seed, reader, front, folder)
        ]


def main(arguments: list[str]) -> int:
    """The command; its status is 1 if there are faults."""
    options = _parser().parse_args(arguments)
    formats = options.format or [name for name, _ in GENERATORS]
    tally, end = Tally(), time.monotonic() + options.minutes * 60
    with (
        SparkOracle() as oracle,
        FrontReader() as front,
        tempfile.TemporaryDirectory(prefix="oracle-") as folder,
    ):
        spark, seed = SparkReader(oracle.begin_file()), options.seed
        while True:
            for name in formats:
                chosen = numbered_cases(name, seed, _count(name, formats, options.count))
                if options.index is not None:
                    wanted = numbered_cases(name, seed, options.index + 1)
                    chosen = (pair for pair in wanted if pair[0] == options.index)
                if options.oddity:
                    chosen = (pair for pair in chosen if pair[1].oddity == options.oddity)
                for result in results(chosen, seed, spark, front, Path(folder)):
                    tally.add(result)
                    if result.comparison.verdict.is_fault or options.index is not None:
                        print(result.described(), end="\n\n", flush=True)
            seed += 1
            if time.monotonic() >= end:
                break
    print(*tally.lines(), sep="\n")
    return 1 if tally.faults else 0


def _count(name: str, formats: Sequence[str], count: int) -> int:
    """How many of the cases are of a format.

    >>> [_count(name, list(_SHARES), 3000) for name in _SHARES]
    [1000, 900, 500, 350, 250]
    """
    return round(count * _SHARES[name] / sum(_SHARES[each] for each in formats))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=300, help="cases per seed, over all formats")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--format", action="append", choices=[name for name, _ in GENERATORS])
    parser.add_argument("--index", type=int, help="replay this case of the format and seed alone")
    parser.add_argument("--oddity", help="the cases of this class alone, such as `mutated`")
    parser.add_argument("--minutes", type=float, default=0, help="go on with the next seeds for that long")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
