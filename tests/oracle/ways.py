"""The lane, the reason and EXPLAIN of every statement of the `.slt` files and of TPC-H, as one text.

    python -m tests.oracle.ways [--spark] [--out FILE] [FILE.slt ...]   write the text
    python -m tests.oracle.ways --compare BEFORE AFTER                  print the differences; exit 1 if any

Without files: all of `tests/slt`, and TPC-H at scale 0.001 over Parquet files. Every file runs once in each
:class:`Arrangement` of its views, each time in a new session; `--spark` takes the arrangements beside a live
Spark instead. An entry has a heading (`joins.slt:12 views`), and below the heading, indented, the statement,
EXPLAIN of the statement, and the lane and the reason that the statement ran by; instead of EXPLAIN or the
lane, the class, condition and SQLSTATE of the error.

The text is deterministic: two texts of the same files differ only where a change of sqlfront shows. To
compare with an older commit, copy this file into a checkout of that commit and run the file there. The file
uses only what old commits have, too: `sqlfront.connect`, `Session.execute`, and the reader of `.slt` files.
"""

from __future__ import annotations

import argparse
import datetime
import difflib
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

import sqlfront
from tests.oracle import slt
from tests.oracle.answers import Column
from tests.oracle.complete import SLT_FOLDER, files
from tests.oracle.file_run import clustered, quoted
from tests.oracle.slt import Record
from tests.tpch import answers
from tests.tpch.data import TABLES, tpch_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.oracle.spark import SparkOracle

#: The scale of TPC-H: 6,005 rows of lineitem.
SCALE = "0.001"

_CHECKOUT = str(Path(__file__).parents[2])
_MAKES_VIEW = re.compile(r"CREATE(?: OR REPLACE)? TEMPORARY VIEW (\w+)")
#: A path in the folder of temporary files.
_TEMPORARY = re.compile(rf"(?:file:)?{re.escape(tempfile.gettempdir())}/[^\s,;:'\"`\])]*")
#: The files of a scan in a plan of Spark, which cuts long lists.
_LOCATION = re.compile(r"Location: .*?(?=, PartitionFilters)")
#: An identity in a plan of Spark, which counts them up: of an expression (`a#12L`), or a node (`plan_id=12`).
_IDENTITY = re.compile(r"#\d+|\b(?:plan_id|id)=#?\d+")
#: The address of a Java object, with the count and the address of the class of a lambda.
_ADDRESS = re.compile(r"(?:\$\$Lambda\S*)?@[0-9a-f]{5,16}\b")


class Arrangement(Enum):
    """The place of the temporary views of a file."""

    VIEWS = "as the file's statements make them"
    CACHED = "each cached as a memory table, partitioned by its first column that can be a key"
    SPREAD = "the same, on three members that exchange rows whenever they can"
    BESIDE = "as the file's statements make them, in a session beside Spark"
    SHARED = "Spark makes them, and every second one is copied to a session beside Spark"

    @property
    def is_beside_spark(self) -> bool:
        """Whether the arrangement needs a Spark session."""
        return self in (Arrangement.BESIDE, Arrangement.SHARED)


@dataclass(frozen=True)
class Entry:
    """A statement's way: the statement's place and arrangement, and the text of what was found."""

    record: Record
    arrangement: Arrangement
    body: str

    def __str__(self) -> str:
        heading = f"{self.record.place} {self.arrangement.name.lower()}"
        return "\n".join([heading, *("    " + line for line in self.body.splitlines())]) + "\n"


class WaysRun:
    """The statements of one file in one arrangement. A context manager that owns the session."""

    def __init__(self, arrangement: Arrangement, spark: SparkSession | None) -> None:
        self._arrangement = arrangement
        self._spark = spark
        self._views = 0

    def __enter__(self) -> WaysRun:
        spread = sqlfront.Config(members=3, workers=3, collect_rows=0)
        config = spread if self._arrangement is Arrangement.SPREAD else None
        self._connection = sqlfront.connect(config, spark=self._spark)
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def entry(self, record: Record) -> Entry:
        """Explain a statement, run it, and arrange the temporary view that the statement makes."""
        explained = _outcome(lambda: self._explained(record.sql))
        parts = [scrubbed(record.sql), "--", explained, "--"]
        view = _MAKES_VIEW.match(record.sql)
        self._views += view is not None
        if view is not None and self._arrangement is Arrangement.SHARED:
            parts.append("made by Spark: " + _outcome(lambda: self._made_by_spark(record.sql)))
        else:
            parts.append("ran: " + _outcome(lambda: self._ran(record.sql)))
        if view is not None and self._caches_view():
            parts.append("cached: " + _outcome(lambda: self._cached(view[1])))
        return Entry(record, self._arrangement, "\n".join(parts))

    def _caches_view(self) -> bool:
        """Whether the newest view gets cached."""
        match self._arrangement:
            case Arrangement.CACHED | Arrangement.SPREAD:
                return True
            case Arrangement.SHARED:
                return self._views % 2 == 1
            case _:
                return False

    def _explained(self, sql: str) -> str:
        rows = self._connection.session.execute(f"EXPLAIN {sql}").collect()
        return "\n".join(str(row[0]) for row in rows)

    def _ran(self, sql: str) -> str:
        result = self._connection.session.execute(sql)
        result.toArrow()
        return f"{result.stats.lane} ({result.stats.reason})"

    def _cached(self, view: str) -> str:
        dtypes = self._connection.session.execute(f"SELECT * FROM {view}").dtypes
        clause = clustered(tuple(Column(name, kind) for name, kind in dtypes))
        return self._ran(f"CACHE TABLE {quoted(view)}{clause}")

    def _made_by_spark(self, sql: str) -> str:
        assert self._spark is not None
        self._spark.sql(sql)
        return "yes"


def main(arguments: list[str] | None = None) -> int:
    """Exit status 0, or 1 if compared texts differ."""
    parser = argparse.ArgumentParser(prog="tests.oracle.ways", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("paths", nargs="*", type=Path, metavar="FILE.slt")
    parser.add_argument("--spark", action="store_true", help="run beside a live Spark")
    parser.add_argument("--out", type=Path, help="the file to write; default: standard output")
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("BEFORE", "AFTER"))
    options = parser.parse_args(arguments)
    if options.compare is not None:
        return compare(*(path.read_text(encoding="utf-8") for path in options.compare))
    with ExitStack() as stack:
        spark = stack.enter_context(_oracle()) if options.spark else None
        text = ways(options.paths, spark)
    if options.out is None:
        print(text, end="")
    else:
        options.out.write_text(text, encoding="utf-8")
    return 0


def ways(paths: list[Path], spark: SparkOracle | None = None) -> str:
    """The text for the files, or for all files and TPC-H if there are no paths.

    The entries are in order of file, line and arrangement: those beside ``spark``, or those without a Spark.
    """
    sources = [slt.read(path) for path in files(paths or [SLT_FOLDER])]
    if not paths:
        sources.append(list(tpch_records()))
    arrangements = [kind for kind in Arrangement if kind.is_beside_spark == (spark is not None)]
    entries = [entry for records in sources for kind in arrangements for entry in _run(records, kind, spark)]
    order = list(Arrangement)
    entries.sort(key=lambda entry: (entry.record.file, entry.record.line, order.index(entry.arrangement)))
    return "\n".join(map(str, entries))


def tpch_records() -> Iterator[Record]:
    """Statements that make TPC-H's tables as views of Parquet files, and TPC-H's queries."""
    for line, table in enumerate(TABLES, 1):
        path = tpch_folder(SCALE) / f"{table}.parquet"
        sql = f"CREATE TEMPORARY VIEW {table} AS SELECT * FROM parquet.`{path}`"
        yield Record("tpch/data.py", line, False, frozenset(), sql, None)
    for name in answers.NAMES:
        yield Record(f"tpch/{name}.sql", 1, True, frozenset(), answers.query(name), None)


def scrubbed(text: str) -> str:
    """The text without what differs between two runs: paths, today's dates and times, and in Spark's plans
    addresses and the identities that Spark counts up.

    >>> scrubbed("lane: spark (why)\\n+- Project [a#17, b#18, a#17 AS c#25]")
    'lane: spark (why)\\n+- Project [a#1, b#2, a#1 AS c#3]'
    """
    text = _TEMPORARY.sub("<temporary>", text.replace(_CHECKOUT, "<checkout>"))
    today = datetime.datetime.now(datetime.UTC).date()
    text = re.sub(rf"\b{today}\b(?: \d\d:\d\d:\d\d(?:\.\d+)?)?", "<now>", text)
    if not text.startswith("lane: spark"):
        return text
    text = _ADDRESS.sub("@<address>", _LOCATION.sub("Location: <files>", text))
    numbers: dict[str, int] = {}
    return _IDENTITY.sub(lambda found: _renumbered(found[0], numbers), text)


def _renumbered(identity: str, numbers: dict[str, int]) -> str:
    """The identity with the number of its first use in the text instead of Spark's count."""
    start = re.search(r"\d", identity)
    assert start is not None
    number = numbers.setdefault(identity[start.start() :], len(numbers) + 1)
    return f"{identity[: start.start()]}{number}"


def compare(before: str, after: str) -> int:
    """Print the number of statements, the number of those that differ, and each difference. Return 1 if there
    are differences, else 0."""
    old, new = dict(_parsed(before)), dict(_parsed(after))
    differing = [heading for heading in old | new if old.get(heading) != new.get(heading)]
    print(f"{len(old)} statements before, {len(new)} after, {len(differing)} differ")
    for heading in differing:
        lines = difflib.ndiff(old.get(heading, "").splitlines(), new.get(heading, "").splitlines())
        print("\n".join(["", heading, *(line.rstrip() for line in lines if not line.startswith("?"))]))
    return 1 if differing else 0


def _parsed(text: str) -> Iterator[tuple[str, str]]:
    """The entries of a text: heading, and the indented body."""
    for part in re.split(r"\n(?=\S)", text):
        heading, _, body = part.partition("\n")
        yield heading, body.rstrip("\n")


def _run(records: Iterable[Record], arrangement: Arrangement, oracle: SparkOracle | None) -> Iterator[Entry]:
    spark = None if oracle is None else oracle.begin_file().session
    with WaysRun(arrangement, spark) as run:
        for record in records:
            yield run.entry(record)


def _outcome(attempt: Callable[[], str]) -> str:
    """The scrubbed text of an attempt, or the error that the attempt ended with. No error ends the run: a
    change of the error's class is a difference, too."""
    try:
        return scrubbed(attempt())
    except sqlfront.Error as error:
        return f"{type(error).__name__} {error.condition or '-'} {error.sqlstate or '-'}"
    except Exception as error:  # noqa: BLE001 - noted like every other outcome
        return f"{type(error).__name__}, which is no error of sqlfront"


def _oracle() -> SparkOracle:
    from tests.oracle.spark import SparkOracle

    return SparkOracle()


if __name__ == "__main__":
    sys.exit(main())
