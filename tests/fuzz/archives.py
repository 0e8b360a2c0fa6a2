"""Small files that unpack to large ones, or to few values that many rows repeat: what reading them takes.

A process of its own reads each file in a session of a small memory limit, with and without a schema. It ends
well with an answer, or with an error of PEP 249's hierarchy other than InternalError, in bounded memory and
time::

    python -m tests.fuzz.archives --count 200 --seed 1
    python -m tests.fuzz.archives --seed 1 --index 17                 that file alone
"""

import argparse
import gzip
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

MIB: Final = 1 << 20
#: The memory limit of a session, and the bytes by which a process may grow.
LIMIT: Final = 512 * MIB
MOST_BYTES: Final = 1024 * MIB
#: The timeout of a statement, and the seconds of the processor after which it should have ended.
TIMEOUT: Final = 10.0
MOST_SECONDS: Final = 20.0
#: Seconds after which a process is killed.
_HANGS: Final = 300.0
#: A text is at most that large, and so is a column if the text of each of its rows is counted.
_MOST_TEXT: Final = 48 * MIB
_MOST_COLUMN: Final = 256 * MIB
#: The same for a column of Parquet of which a dictionary alone is written.
_MOST_DICTIONARY: Final = 1536 * MIB

#: What texts are put together from, and options that they may be read with.
_PARTS: Final[dict[str, Sequence[str]]] = {
    "csv": (
        *("1", ",", "\n", '"', "a", "-1.5e3", "2020-01-01", "true"),
        *(" ", "\t", "\r\n", "é", '""', "\\", "#"),
    ),
    "json": (
        *("{", "}", "[", "]", '"', ":", ",", "\n", "1", "null", "{}", "'a':1", '"a":', '{"a":1}\n'),
        *("\\u00e9", '"x"', "{'b':[1]}\n", '{"k%d":1}\n', "1e400", "9" * 30, " "),
        '{"a":{"b":[{"c":"d"}]}}\n',
    ),
    "text": ("a", "\n", "\r", "é", "ab\n", "||", " ", "\r\n"),
}
_OPTIONS: Final[dict[str, Sequence[str]]] = {
    "csv": ("inferSchema 'true'", "header 'true'", "multiLine 'true'", "comment '#'", "sep '||'", "quote ''"),
    "json": ("multiLine 'true'", "primitivesAsString 'true'", "allowSingleQuotes 'false'"),
    "text": ("wholetext 'true'", "lineSep '||'", "lineSep 'aa'"),
}


class Case(NamedTuple):
    """A file's format and name, and the options that it is read with."""

    format: str
    name: str
    options: str


class Outcome(NamedTuple):
    """The most seconds of the processor of a statement, the bytes by which the process grew, how the
    statements ended, and what is wrong ("": nothing)."""

    seconds: float
    size: int
    endings: str
    fault: str


def make(folder: Path, seed: int, index: int) -> Case:
    """Write the file of that seed and number."""
    choose = random.Random(f"archives {seed} {index}")
    kind = choose.choice(("csv", "csv", "json", "json", "text", "parquet", "orc"))
    if kind in ("parquet", "orc"):
        return _make_columnar(folder, kind, choose)
    unit = "".join(choose.choices(_PARTS[kind], k=choose.choice((1, 1, 2, 4, 12, 2000))))
    head, tail = ("".join(choose.choices(_PARTS[kind], k=choose.choice((0, 0, 3)))) for _ in range(2))
    name = f"a.{kind}.gz"
    size = choose.randrange(_MOST_TEXT >> 6, _MOST_TEXT)
    with gzip.open(folder / name, "wt", 1, encoding="utf-8", newline="") as file:
        file.write(head)
        written = 0
        while written < size:
            part = unit * max(1, MIB // len(unit))
            if "%d" in part:
                part = "".join(piece + str(choose.randrange(3000)) for piece in part.split("%d")[:3000])
            file.write(part)
            written += max(len(part), MIB)
        file.write(tail)
    given = choose.sample(_OPTIONS[kind], choose.choice((0, 1, 1, 2)))
    return Case(kind, name, "".join(f", {option}" for option in given))


def _make_columnar(folder: Path, kind: str, choose: random.Random) -> Case:
    import pyarrow as pa
    import pyarrow.orc as orc
    import pyarrow.parquet as pq

    lengths = choose.choices((0, 10, 1000, 100_000, MIB), k=choose.choice((1, 3)))
    shape = choose.choice(("flat", "flat", "list", "struct"))
    is_dictionary = kind == "parquet" and shape == "flat"
    most = _MOST_DICTIONARY if is_dictionary else _MOST_COLUMN
    rows = min(choose.choice((1000, 10_000, 100_000, 1_000_000)), most // max(*lengths, 1))
    places = pa.array([number % len(lengths) for number in range(rows)], pa.int32())
    column = pa.DictionaryArray.from_arrays(places, pa.array(["x" * length for length in lengths]))
    if not is_dictionary:
        column = column.cast(pa.string())
    if shape == "list":
        column = pa.ListArray.from_arrays(pa.array(range(rows + 1), pa.int32()), column)
    elif shape == "struct":
        column = pa.StructArray.from_arrays([column, column], ["a", "b"])
    table = pa.table({"a": column, "n": range(rows)})
    name = f"a.{kind}"
    if kind == "orc":
        orc.write_table(table, folder / name, compression="zstd", stripe_size=1 << 30)
    else:
        limit = choose.choice((MIB, 64 * MIB))
        pq.write_table(table, folder / name, compression="zstd", dictionary_pagesize_limit=limit)
    return Case(kind, name, "")


def read(folder: Path, case: Case) -> Outcome:
    """Read the file in a process of its own."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "tests.fuzz.archives", "--work", *case],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=_HANGS,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
    except subprocess.TimeoutExpired:
        return Outcome(_HANGS, 0, "", "HANG")
    if done.returncode:
        return Outcome(0.0, 0, done.stderr[-500:], f"DEATH {done.returncode}")
    spent, grown, endings = done.stdout.rstrip("\n").split("|", 2)
    seconds, size = float(spent), int(grown)
    fault = ""
    if "RAW" in endings or "InternalError" in endings:
        fault = "RAW"
    elif size > MOST_BYTES:
        fault = "LARGE"
    elif seconds > MOST_SECONDS:
        fault = "SLOW"
    return Outcome(seconds, size, endings, fault)


def _statements(case: Case) -> list[str]:
    given = f"USING {case.format} OPTIONS (path '{case.name}'{case.options})"
    found = [f"CREATE TEMPORARY VIEW v {given}", "SELECT count(*) FROM v", "SELECT * FROM v LIMIT 3"]
    if case.format in ("csv", "json"):
        declared = f"CREATE OR REPLACE TEMPORARY VIEW v (a STRING, b INT) {given}"
        return [*found, declared, "SELECT count(a), max(b) FROM v"]
    if case.format in ("parquet", "orc"):
        return [*found, "SELECT count(a), max(a) FROM v", "SELECT a FROM v WHERE n = 7"]
    return found


def _work(case: Case) -> None:
    """Read the file of the current folder; print seconds, bytes, and endings."""
    import sqlfront

    config = sqlfront.Config(memory_limit=LIMIT, workers=1, timeout=TIMEOUT)
    endings, longest = [], 0.0
    with sqlfront.connect(config=config) as connection:
        connection.execute("SELECT 1").fetchall()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for statement in _statements(case):
            began = time.process_time()
            try:
                cursor = connection.execute(statement)
                if cursor.description:
                    cursor.fetchall()
                ending = "answer"
            except sqlfront.Error as error:
                ending = f"{type(error).__name__} {error.condition or ''}".strip()
            except Exception as error:  # noqa: BLE001 - the fault that is looked for
                ending = f"RAW {type(error).__name__}: {error}"[:200].replace("\n", " ")
            longest = max(longest, time.process_time() - began)
            endings.append(ending)
        peak = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    print(f"{longest:.1f}|{peak}|{', '.join(endings)}")


def main() -> int:
    """Run as the command line says; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="files")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--index", type=int, help="this file alone")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        _work(Case(*options.work))
        return 0
    numbers = range(options.count) if options.index is None else [options.index]
    faults, largest, longest = 0, 0, 0.0
    for index in numbers:
        with tempfile.TemporaryDirectory() as folder:
            case = make(Path(folder), options.seed, index)
            found = read(Path(folder), case)
            packed = (Path(folder) / case.name).stat().st_size
        faults += bool(found.fault)
        largest, longest = max(largest, found.size), max(longest, found.seconds)
        if found.fault or options.index is not None:
            print(
                f"--seed {options.seed} --index {index}: {found.fault or 'well'}: {case.format}"
                f"{case.options}, {packed:,} bytes; {found.seconds:.1f} s, {found.size // MIB} MiB;"
                f" {found.endings}",
                flush=True,
            )
    print(f"{len(numbers)} files, {faults} faults; at most {largest // MIB} MiB and {longest:.1f} s of CPU")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
