"""A process that runs statements over extremes, one line of JSON each, and prints what becomes of them.

It may have 3 GiB of address space; its session has 512 MiB and ten seconds for each statement.
"""

from __future__ import annotations

import hashlib
import json
import resource
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

import sqlfront
from sqlfront.config import Config
from tests.fuzz import extreme_values
from tests.oracle.values import rows_of

ADDRESS_SPACE = 3 * 1024**3
#: Bytes of a result beyond which its values aren't made Python objects: sequences of every day since year 1
#: are 53 million of them.
LARGE = 64 * 1024**2


def run(
    connection: sqlfront.Connection, sql: str, number: int, begun: list[float], *, whole: bool
) -> dict[str, object]:
    """The rows as text (a digest of them unless ``whole``), or the error's class, condition and text. To
    ``begun`` comes the CPU's time whenever the statement begins: every third one runs twice."""
    begun.append(time.process_time())
    try:
        cursor = connection.cursor().execute(sql)
        table = cursor.fetch_arrow_table()
        if table.nbytes > LARGE:
            return {"digest": f"{table.num_rows} large rows"}
        if number % 3 == 0:  # the rows as Python has them
            begun.append(time.process_time())
            return {"digest": f"{len(cursor.execute(sql).fetchall())} rows"}
        columns = [[name, kind.ddl] for name, kind, *_ in cursor.description or ()]
        rows = [list(row) for row in rows_of(table)]
        if whole:
            return {"columns": columns, "rows": rows}
        text = repr(sorted(rows))
        return {"digest": f"{hashlib.sha256(text.encode()).hexdigest()[:16]} {text[:250]}"}
    except sqlfront.Error as error:
        return {"error": type(error).__name__, "condition": error.condition, "text": _printable(error)}
    except BaseException as error:  # noqa: BLE001 - which exceptions come out is the question
        return {"error": f"!{type(error).__name__}", "condition": None, "text": _printable(error)}


def _printable(error: BaseException) -> str:
    return str(error)[:2000].encode("utf-8", "replace").decode()


def held(which: str) -> int:
    """The memory that the process holds now (``VmRSS``), or held at most since :func:`settle` (``VmHWM``),
    in MiB."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (line,) = (line for line in status.splitlines() if line.startswith(which))
    return int(line.split()[1]) // 1024


def settle() -> int:
    """Have Arrow's allocator give back what it keeps for later, and measure from here on; what the process
    holds all the same, in MiB."""
    pa.default_memory_pool().release_unused()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return held("VmRSS")


def main() -> None:
    """Register the tables of the seed, then answer line by line."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    seed = int(sys.argv[1])
    config = Config(memory_limit=512 * 1024**2, timeout=10)
    with TemporaryDirectory() as folder, sqlfront.connect(config=config) as connection:
        for name, table in extreme_values.tables(connection, seed).items():
            if name == "broken":  # registered data are checked at the door; Parquet files aren't
                pq.write_table(table, path := Path(folder) / "broken.parquet")
                view = f"CREATE TEMPORARY VIEW {name} AS SELECT * FROM parquet.`{path}`"
                connection.cursor().execute(view)
            else:
                connection.session.register(name, table)
        print(json.dumps("ready"), flush=True)
        idle = settle()
        for line in sys.stdin:
            sql, number, whole = json.loads(line)
            before = settle()
            began, begun = time.monotonic(), list[float]()
            said = run(connection, sql, number, begun, whole=whole)
            ended = (*begun[1:], time.process_time())
            cpu = max(end - start for start, end in zip(begun, ended, strict=True))
            said |= {"seconds": time.monotonic() - began, "cpu": cpu}
            said["peak"] = idle + held("VmHWM") - before  # as if it were the process's first statement
            print(json.dumps(said), flush=True)


if __name__ == "__main__":
    main()
