"""Every function of the registries against extremes of every type, in processes of their own.

    python -m tests.fuzz.extremes                       # a thousand calls of each function
    python -m tests.fuzz.extremes --count 20 --seed 7 --only lpad repeat
    python -m tests.fuzz.extremes --count 40 --spark    # answers of constants compared with a live Spark's

A call may end with rows or with an error of PEP 249's hierarchy. A dead process, a call that goes on after
its timeout of ten seconds, an InternalError, a foreign exception, more than 1 GiB of memory, and another
answer over the same rows in another of Arrow's forms are findings; so is another answer than Spark's.
"""

from __future__ import annotations

import argparse
import json
import select
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from typing import Final, cast

import msgspec

from tests.fuzz.extreme_calls import Case, cases, functions
from tests.oracle.answers import Answer, Column, Failure, Outcome, difference

#: Seconds of CPU that a call may take (its session's timeout ends it after ten), and of wall time before its
#: process is given up.
CALM: Final = 11.0
GIVEN_UP: Final = 120.0
#: MiB that a process may hold.
MEMORY: Final = 1024
#: What a call over a table is run over; the first ones hold the same rows.
FORMS: Final = ("made", "sliced", "encoded", "chunked")
OTHERS: Final = ("empty", "nothing", "broken")

Said = dict[str, object]


class Finding(msgspec.Struct, frozen=True):
    """What is wrong with a call."""

    kind: str
    function: str
    sql: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.sql[:400]}\n    {self.text[:600]}"


class Worker:
    """A process of :mod:`tests.fuzz.extreme_worker`, begun anew when it has died or is given up."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._process: subprocess.Popen[str] | None = None

    def ask(self, sql: str, number: int, *, whole: bool = False) -> Said:
        """What becomes of a statement, with the ``whole`` answer; ``{"error": "dead"}`` if the process didn't
        survive it, or ``{"error": "hangs"}``."""
        process = self._process or self._begin()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps([sql, number, whole]) + "\n")
            process.stdin.flush()
        except BrokenPipeError:
            return self._ended(process)
        line = self._line(process, GIVEN_UP)
        if line is None:
            self.close()
            return {"error": "hangs", "text": f"no answer within {GIVEN_UP:g} s"}
        return cast("Said", json.loads(line)) if line else self._ended(process)

    def _begin(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.fuzz.extreme_worker", str(self._seed)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        ready = self._line(self._process, 10 * GIVEN_UP)
        if not ready:
            raise RuntimeError(f"no worker: {self._ended(self._process)}")
        return self._process

    @staticmethod
    def _line(process: subprocess.Popen[str], seconds: float) -> str | None:
        assert process.stdout is not None
        ready, _, _ = select.select([process.stdout], [], [], seconds)
        return process.stdout.readline() if ready else None

    def _ended(self, process: subprocess.Popen[str]) -> Said:
        code = process.wait()
        assert process.stderr is not None
        said = {"error": "dead", "text": f"exit code {code}: {process.stderr.read()[-500:]}"}
        self.close()
        return cast("Said", said)

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()


def judged(case: Case, sql: str, said: Said) -> Iterator[Finding]:
    """What is wrong with an outcome by itself."""
    error, text = str(said.get("error", "")), str(said.get("text", ""))
    if error in ("dead", "hangs", "InternalError") or error.startswith("!"):
        yield Finding(error.lstrip("!"), case.function, sql, text)
    if float(cast("float", said.get("cpu", 0))) > CALM:
        yield Finding("slow", case.function, sql, f"{said['cpu']:.1f} s of CPU")
    if int(cast("int", said.get("peak", 0))) > MEMORY:
        yield Finding("memory", case.function, sql, f"{said['peak']} MiB")


def swept(worker: Worker, case: Case, number: int) -> Iterator[tuple[list[Finding], str]]:
    """The findings of one call and how it ended, over every form of the table if it is over one."""
    if "{t}" not in case.sql:
        said = worker.ask(case.sql, number)
        yield list(judged(case, case.sql, said)), _outcome(said)
        return
    known: str | None = None
    for form in (*FORMS, OTHERS[number % 3]):
        sql = case.sql.replace("{t}", form)
        said = worker.ask(sql, number)
        findings = list(judged(case, sql, said))
        if case.fixed and form in FORMS and not _timed_out(said):
            told = _told(said)
            if known is not None and told != known:
                text = f"{told[:250]}\n    {FORMS[0]}: {known[:250]}"
                findings.append(Finding("forms differ", case.function, sql, text))
            known = known or told
        yield findings, _outcome(said)


def _outcome(said: Said) -> str:
    return str(said.get("error", "rows"))


def _told(said: Said) -> str:
    """An outcome as text that is the same for the same rows. Which row's error comes first is free."""
    return "an error" if "error" in said else str(said["digest"])


def _timed_out(said: Said) -> bool:
    return "57014" in str(said.get("text", ""))


def compared(case: Case, said: Said, answer: Callable[[str], Outcome]) -> Finding | None:
    """How Spark's answer to a call of constants differs; None if it doesn't, or we refuse the call."""
    error = said.get("error")
    if error in ("NotSupportedError", "OperationalError", "TooLargeError", "InternalError", "dead", "hangs"):
        return None
    got: Outcome
    if error is not None:
        got = Failure(cast("str | None", said["condition"]), None, f"{error}: {said['text']}")
    else:
        columns = tuple(Column(name, kind) for name, kind in cast("list[list[str]]", said["columns"]))
        got = Answer(columns, tuple(map(tuple, cast("list[list[str]]", said["rows"]))))
    expected = answer(case.sql)
    if isinstance(expected, Failure):
        expected = Failure(expected.condition, None, expected.message)
        if isinstance(got, Failure) and (expected.condition is None or got.condition is None):
            return None
    found = difference(expected, got)
    return None if found is None else Finding("spark differs", case.function, case.sql, found)


def sweep(
    names: Iterable[str],
    count: int,
    seed: int,
    answer: Callable[[str], Outcome] | None = None,
    seconds: float | None = None,
) -> Iterator[tuple[list[Finding], str]]:
    """The findings of so many calls of each function, call by call, and how each ended; none begins after so
    many seconds."""
    worker = Worker(seed)
    begun = time.monotonic()
    try:
        for number, case in _all_cases(names, count, seed):
            if seconds is not None and time.monotonic() - begun > seconds:
                break
            if answer is None:
                yield from swept(worker, case, number)
            elif "{t}" not in case.sql and case.fixed:
                said = worker.ask(case.sql, 1, whole=True)
                found = compared(case, said, answer)
                judgement = judged(case, case.sql, said)
                yield [*judgement, *([] if found is None else [found])], _outcome(said)
    finally:
        worker.close()


def _all_cases(names: Iterable[str], count: int, seed: int) -> Iterator[tuple[int, Case]]:
    """Round by round, so that whenever time is up all functions have had as many calls."""
    generators = [cases(name, count, seed) for name in names]
    number = 0
    for calls in zip(*generators, strict=True):
        for case in calls:
            yield number, case
            number += 1


def main() -> int:
    """Sweep as the command line says; 1 if something was found."""
    parser = argparse.ArgumentParser(description="Functions against extremes")
    parser.add_argument("--count", type=int, default=1000, help="calls of each function")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", help="names of functions; default: all")
    parser.add_argument("--seconds", type=float, help="stop after so long")
    parser.add_argument("--spark", action="store_true", help="compare with a live Spark instead")
    options = parser.parse_args()
    names = tuple(options.only or functions())
    with ExitStack() as stack:
        answer = None
        if options.spark:
            from tests.oracle.spark import SparkOracle

            answer = stack.enter_context(SparkOracle()).answer
        return reported(sweep(names, options.count, options.seed, answer, options.seconds))


def reported(calls: Iterable[tuple[list[Finding], str]]) -> int:
    """Print the findings as they come, then the counts; 1 if something was found."""
    kinds, ended = Counter[str](), Counter[str]()
    for findings, outcome in calls:
        ended[outcome] += 1
        for finding in findings:
            kinds[finding.kind] += 1
            print(finding, flush=True)
    print(f"{sum(ended.values())} calls: {dict(ended.most_common())}")
    print(f"{sum(kinds.values())} findings: {dict(kinds)}")
    return 1 if kinds else 0


if __name__ == "__main__":
    sys.exit(main())
