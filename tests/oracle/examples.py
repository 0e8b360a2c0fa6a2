"""Examples of edges, each answered by sqlfront and by Spark: ``python -m tests.oracle.examples``.

Prints a table in Markdown (``docs/edges.md``, which a test holds sqlfront to). sqlfront runs each statement
in a process that may have 3 GiB, a session of 1 GiB; Spark is asked where it gives up or answers within a
minute (the others have a reason).
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from tests.oracle.answers import Answer, Failure, Outcome
from tests.oracle.example_run import columns_and_rows, shortened
from tests.oracle.spark import SparkOracle

#: Seconds for one statement here, all of a start's included.
LIMIT = 60.0


@dataclass(frozen=True)
class Example:
    """A statement over files of its own; ``{at}`` in both stands for their folder. ``shown`` stands for a
    text that is too long to show, ``unasked`` says why Spark isn't asked."""

    area: str
    sql: str
    files: dict[str, bytes] = field(default_factory=dict)
    shown: str = ""
    unasked: str = ""


def _csv(content: bytes, options: str = "header 'true', inferSchema 'true'") -> Example:
    """One file of CSV, read as a view."""
    view = f"CREATE TEMPORARY VIEW v USING csv OPTIONS (path '{{at}}/t', {options}); SELECT * FROM v"
    return Example("CSV", view, {"t/a.csv": content}, shown=f"{content[:40]!r} with {options}")


def _json(content: bytes, options: str = "primitivesAsString 'false'") -> Example:
    view = f"CREATE TEMPORARY VIEW v USING json OPTIONS (path '{{at}}/t', {options}); SELECT * FROM v"
    return Example("JSON", view, {"t/a.json": content}, shown=f"{content[:60]!r} with {options}")


def _schema_json(content: bytes, schema: str) -> Example:
    view = f"CREATE TEMPORARY VIEW v ({schema}) USING json OPTIONS (path '{{at}}/t'); SELECT * FROM v"
    return Example("JSON", view, {"t/a.json": content}, shown=f"{content[:60]!r} as ({schema})")


def _parquet(sql: str, **columns: pa.Array) -> Example:
    """Files of one column each, named as it or after it."""
    files: dict[str, bytes] = {}
    for name, column in columns.items():
        file = io.BytesIO()
        pa.parquet.write_table(pa.table({name.rstrip("_"): column}), file)
        files[f"t/{len(files)}.parquet"] = file.getvalue()
    shown = ", ".join(f"{name.rstrip('_')} {column.type}" for name, column in columns.items())
    return Example("other files", sql, files, shown=f"{sql}, of Parquet files with {shown}")


def _sql(text: str, area: str = "answers", shown: str = "", unasked: str = "") -> Example:
    return Example(area, text, shown=shown, unasked=unasked)


_LARGE = "a result of gigabytes"
_DEEP = "it gives up by its stack, or plans for minutes"

EXAMPLES = (
    _csv(b"a,a,b\n1,2,3\n"),
    _csv(b"a,A,b\n1,2,3\n"),
    _csv(b'a,b\n1,x"y"z\n2,"un\n'),
    _csv(b'a,b\n"x"y,1\n'),
    _csv(b'a,b\n"one\ntwo",1\n', "header 'true', multiLine 'true'"),
    _csv(b""),
    _csv(b"a,b\n"),
    _csv("a,b\nä,ö\n".encode("latin-1"), "header 'true', encoding 'ISO-8859-1'"),
    _csv("a,b\nä,1\n".encode("utf-16"), "header 'true', encoding 'UTF-16'"),
    _csv(b"a,b\n1,2,3\n4\n", "header 'true', mode 'FAILFAST'"),
    _json(b'{"a":1,"A":2}\n'),
    _json(b'{"a":1,"a":2}\n'),
    _json(b"{'a':'x'}\n"),
    _schema_json(b'{"a":{"b": 1, "c":[1, 2]}}\n', "a STRING"),
    _json(b'{"a":{}}\n{"a":{}}\n'),
    _json(b'{"a":12345678901234567890}\n{"a":1}\n'),
    _json(b'{"a":1e400}\n'),
    _json(b'[{"a":1},{"a":2}]\n'),
    _json(b'{"a":1} {"a":2}\n'),
    Example("other files", "SELECT * FROM text.`{at}/t`", {"t/a.txt": b"one\ntwo\n\n"}),
    Example("other files", "SELECT * FROM orc.`{at}/none`"),
    Example(
        "other files", "SELECT * FROM csv.`{at}/t`", {"t/_hidden": b"1\n", "t/.x": b"2\n", "t/a": b"3\n"}
    ),
    Example("other files", "SELECT * FROM csv.`{at}/t`", {"t/k=1/a": b"x\n", "t/k=02/a": b"y\n"}),
    _parquet("SELECT * FROM parquet.`{at}/t`", a=pa.array([1]), A=pa.array([2])),
    _parquet("SELECT * FROM parquet.`{at}/t`", a=pa.array([1], pa.int32()), a_=pa.array([2])),
    _parquet("SELECT * FROM parquet.`{at}/t`", a=pa.array([1]), a_=pa.array(["x"])),
    Example("other files", "SELECT * FROM csv.`s3://bucket/t`"),
    Example("other files", "SELECT * FROM delta.`{at}/t`", {"t/a": b""}),
    _sql("SELECT string_agg(DISTINCT x, ',') FROM VALUES ('a'), ('a') AS t(x)"),
    _sql("SELECT 1 IS '$NOT NULL'"),
    _sql("SELECT 20181117 < < 2"),
    _sql("/*/**/*/ SELECT 1"),
    _sql("SELECT count(t.*, t.*) FROM VALUES (1, 2), (NULL, 3) AS t(a, b)"),
    _sql("SELECT count(t.*) FROM VALUES (1, 2) AS t(a, b)"),
    _sql("SELECT a % 2 AS b, count(*) FROM VALUES (1, 5), (2, 5), (3, 6) AS t(a, b) GROUP BY b"),
    _sql("SELECT trim(FROM ' x ')"),
    _sql("SELECT 1 NOT IN (1) NOT IN (true)"),
    _sql("SELECT map(x, 1) FROM VALUES (-0.0D) AS t(x)"),
    _sql("SELECT cbrt(27D), pow(10D, -2D), exp(1D), hypot(3D, 4D)"),
    _sql("SELECT then, v.end FROM VALUES (1, 2) AS v(then, end)"),
    _sql("INSERT INTO t REPLACE WHERE a = 1 SELECT 1 AS a", "not built"),
    _sql("BEGIN DECLARE x INT; SET x = 1; SELECT x; END", "not built"),
    _sql("SELECT array_join(array_repeat('a', 50000), repeat('x', 50000))", "sizes", unasked=_LARGE),
    _sql("SELECT regexp_replace(repeat('a', 60000), 'a', repeat('b', 60000))", "sizes", unasked=_LARGE),
    _sql("SELECT replace(repeat('a', 60000), 'a', repeat('b', 60000))", "sizes", unasked=_LARGE),
    _sql("SELECT sum(length(lpad(string(id), 60000, 'ab'))) FROM range(50000)", "sizes"),
    _sql("SELECT sum(length(hex(lpad(string(id), 6000, ' ')))) FROM range(50000)", "sizes"),
    _sql("SELECT hex('\\ud800')", "sizes"),
    _sql(f"SELECT 1{'0' * 1000000}", "sizes", shown="SELECT 1000... (1,000,001 digits)"),
    _sql("SELECT 'x' RLIKE '(a{1,1000}){1,1000}'", "sizes"),
    _sql("SELECT format_string('%.2147483647f', 1D)", "sizes", unasked=_LARGE),
    _sql("SELECT sequence(1, 500000000)", "sizes", unasked=_LARGE),
    _sql("SELECT array_repeat(1, 2147483647)", "sizes"),
    _sql("EXPLAIN SELECT replace(repeat('a', 60000), 'a', repeat('b', 60000))", "sizes", unasked=_LARGE),
    _sql("SELECT length(listagg(repeat('x', 60000))) FROM range(50000)", "sizes", unasked=_LARGE),
    _sql("SELECT sum(length(upper(concat(repeat('x', 60000), id)))) FROM range(40000)", "sizes"),
    _sql("SELECT size(collect_list(array_repeat(id, 1000))) FROM range(1000000)", "sizes", unasked=_LARGE),
    _sql("SELECT space(2147483647)", "sizes", unasked=_LARGE),
    _sql("SELECT space(2147483647) FROM range(0)", "sizes", unasked=_LARGE),
    _sql("SELECT repeat('x', 2000000000)", "sizes", unasked=_LARGE),
    _sql(
        "SELECT concat(repeat('a', 40), '!') RLIKE '^(a|aa)+$'", "sizes", unasked="it backtracks for minutes"
    ),
    _sql("SELECT size(split(repeat('a', 40) || '!', '(a+)+$'))", "sizes", unasked="it backtracks for hours"),
    _sql(
        "SELECT 'xaab' RLIKE '(?<=a{1,2})b', regexp_replace('abc', '[a-c&&[^b]]', '-'), 'AB' RLIKE '(?i)ab'"
    ),
    _sql(
        r"SELECT regexp_extract_all('aaba', '\\Ga', 0), split('a b', '\\b'), regexp_count('aabb', '(.)\\1')"
    ),
    _sql("SELECT array_distinct(CASE WHEN true THEN array(NULL) END)"),
    _sql("SELECT unix_timestamp(TIMESTAMP'2020-01-01', f) FROM VALUES ('yyyy'), ('dd') AS t(f)"),
    _sql("SELECT percentile_approx(DISTINCT x, 0.5) FROM VALUES (1), (2) AS t(x)"),
    _sql("SELECT width_bucket(1D, 0D, 10D, 9223372036854775807L)"),
    _sql("SELECT date_format(date_add(DATE'9999-12-31', 2000000000), 'yyyy')"),
    _sql("SELECT " + " AND ".join(["id = 1"] * 10000) + " FROM range(1)", "depth", "10,000 ANDs", _DEEP),
    _sql("SELECT " + " + ".join(["id"] * 10000) + " FROM range(2)", "depth", "10,000 additions", _DEEP),
    _sql(" UNION ALL ".join(["SELECT 1"] * 5000), "depth", "5,000 UNION ALLs", _DEEP),
    _sql(
        "SELECT count(*) FROM range(1) t0 "
        + " ".join(f"JOIN range(1) t{i} ON t{i}.id = t0.id" for i in range(1, 501)),
        "depth",
        "500 joins",
        _DEEP,
    ),
    _sql(
        f"SELECT count(*) FROM range(9) WHERE id IN ({', '.join(map(str, range(100000)))})",
        "depth",
        "IN of 100,000",
    ),
    _sql("SELECT " + "(" * 1000 + "1" + ")" * 1000, "depth", "1,000 parentheses", _DEEP),
    _sql("SELECT * FROM (" * 200 + "SELECT 1" + ")" * 200, "depth", "200 nested subqueries"),
    _sql("SELECT " + "(" * 18 + "SELECT 1" + ")" * 18, "depth", "SELECT ((((SELECT 1)))) nested 18 deep"),
    _sql(
        "SELECT " + "CASE WHEN id = 0 THEN " * 200 + "1" + " END" * 200 + " FROM range(1)",
        "depth",
        "200 CASEs",
    ),
    _sql(
        "SELECT " + ", ".join(f"sum(id) OVER (ORDER BY id % {i})" for i in range(1, 401)) + " FROM range(1)",
        "depth",
        "400 windows",
        _DEEP,
    ),
    _sql(
        "SELECT count(*) FROM (SELECT "
        + ", ".join(f"c{i}" for i in range(12))
        + " FROM (SELECT "
        + ", ".join(f"id + {i} AS c{i}" for i in range(12))
        + " FROM range(2)) GROUP BY CUBE ("
        + ", ".join(f"c{i}" for i in range(12))
        + "))",
        "depth",
        "CUBE of 12",
    ),
    _sql("SELECT " + "(SELECT " * 18 + "1" + ")" * 18, "depth", "18 nested scalar subqueries"),
    _sql(
        "WITH c0 AS (SELECT 1 AS a), "
        + ", ".join(
            f"c{i} AS (SELECT x.a FROM c{i - 1} x JOIN c{i - 1} y ON x.a = y.a)" for i in range(1, 16)
        )
        + " SELECT count(*) FROM c15",
        "depth",
        "15 CTEs, each the one before joined with itself",
        _DEEP,
    ),
    _sql(f"SELECT {'f' * 1000000}(1)", "depth", "a function with a name of 1 MB"),
    _sql(
        "SELECT CAST(NULL AS " + "array<" * 2000 + "int" + ">" * 2000 + ")",
        "depth",
        "array< 2,000 times",
        _DEEP,
    ),
    _sql(
        "CREATE TABLE `e-f` (a INT) USING parquet; INSERT INTO `e-f` VALUES (1); SELECT * FROM `e-f`", "names"
    ),
    _sql("CREATE TABLE `a/b` (a INT) USING parquet", "names"),
    _sql("CREATE TABLE `x/../../../esc` (a INT) USING parquet", "names"),
    _sql("SHOW FUNCTIONS LIKE 'abs'", "answers"),
)


def by_area() -> Iterator[tuple[str, list[Example]]]:
    """The examples in the order of the tables."""
    for area, examples in groupby(sorted(EXAMPLES, key=lambda one: one.area), key=lambda one: one.area):
        yield area, list(examples)


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory(prefix="examples") as root, SparkOracle() as spark:
        print("# Edges: what sqlfront says, and what Spark says\n")
        print(
            "Made by `python -m tests.oracle.examples`. Each of sqlfront's statements runs in a process of\n"
            "its own, under a memory limit of 1 GiB; the time is the processor's, a cold plan included."
        )
        for area, examples in by_area():
            print(f"\n## {area[0].upper()}{area[1:]}\n\n| statement | sqlfront | within | Spark |")
            print("|---|---|---|---|")
            for number, example in enumerate(examples):
                folder = Path(root) / area / str(number)
                print(_line(example, folder, spark), flush=True)


def laid_out(example: Example, folder: Path) -> list[str]:
    """Write the example's files to the folder, which is made; returns its statements."""
    folder.mkdir(parents=True)
    for name, content in example.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    sql = example.sql.replace("{at}", str(folder))
    return [sql] if sql.startswith("BEGIN") else sql.split("; ")


def asked_here(examples: list[list[str]], folder: Path, limit: float) -> Iterator[tuple[str, float]]:
    """What the last statement of each says in one process, and its seconds; the one that the process doesn't
    survive is the last."""
    ran = subprocess.Popen(
        [sys.executable, "-m", "tests.oracle.example_run"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    hangs = threading.Timer(limit, ran.kill)
    hangs.start()
    try:
        with ran:
            assert ran.stdin is not None and ran.stdout is not None
            for statements in examples:
                ran.stdin.write(f"{json.dumps(statements)}\n")
                ran.stdin.flush()
                line = ran.stdout.readline()
                if not line:
                    yield f"DIES ({ran.wait()})" if hangs.is_alive() else "HANGS", limit
                    break
                said = json.loads(line)
                yield said["words"], said["seconds"]
    finally:
        hangs.cancel()


def shown(example: Example) -> str:
    """The first cell of an example's line."""
    return f"`{example.shown or example.sql}`"


def cell(text: str, folder: Path) -> str:
    """A text in a table."""
    return text.replace("|", "\\|").replace(str(folder), "...")


def _line(example: Example, folder: Path, spark: SparkOracle) -> str:
    statements = laid_out(example, folder)
    ((ours, seconds),) = asked_here([statements], folder, LIMIT)
    theirs = example.unasked and f"not asked: {example.unasked}"
    if not theirs:
        subject = spark.begin_file()
        for statement in statements:
            outcome = subject.answer(statement)
            if isinstance(outcome, Failure):
                break
        theirs = _words(outcome)
    return f"| {' | '.join(cell(text, folder) for text in (shown(example), ours, _time(seconds), theirs))} |"


def _words(outcome: Outcome) -> str:
    """An outcome for a cell."""
    match outcome:
        case Failure():
            return f"error {outcome.condition}"
        case Answer():
            return shortened(columns_and_rows(outcome))


def _time(seconds: float) -> str:
    """The bound of a list that holds."""
    bounds: Iterator[float] = iter((0.01, 0.1, 0.5, 1, 2, 5, 10, LIMIT))
    return f"{next(bound for bound in bounds if seconds <= bound):g} s"


if __name__ == "__main__":
    main()
