"""The gain of changing a durable job's plan while the job runs.

``python -m benchmarks.adaptive_jobs [--rows 3000000] [--rounds 3]`` runs two joins as durable jobs with and
without changes of the plan, in turn: a join in which one key has most of the streamed rows, and a join whose
held side a filter makes small in a way that the planner can't estimate. Shown are the medians of the wall
times, their ratio, and which changes the job made. The table of the streamed rows has several files.
"""

import argparse
import json
import statistics
import tempfile
import time

import sqlfront
from sqlfront.connection import Connection

#: The files of the table of streamed rows.
FILES = 8
#: Of 20 streamed rows, 19 have the same key.
GIANT_KEY = """
    SELECT h.g, count(*) AS n, sum(s.v) AS v, max(abs(s.v - h.g) % 97) AS m
    FROM streamed s LEFT JOIN held h ON s.k = h.k AND s.v % 10 <> h.g
    GROUP BY h.g
"""
#: Of the held rows, 100 pass.
FILTERED = """
    SELECT h.g, count(*) AS n, sum(s.v) AS v
    FROM streamed s JOIN held h ON s.j = h.k WHERE length(h.n) < 46
    GROUP BY h.g
"""


def make_tables(connection: Connection, folder: str, rows: int) -> None:
    """Make the tables ``streamed`` of ``rows`` rows and ``held`` of half of them."""
    for file in range(FILES):
        first, last = rows * file // FILES, rows * (file + 1) // FILES
        query = f"""
            SELECT id, CASE WHEN id % 20 > 0 THEN 7 ELSE id % {rows // 2} END AS k,
                id * 7919 % {rows // 2} AS j, id % 1000 AS v, concat('row ', id) AS t
            FROM range({first}, {last})
        """
        location = f"TABLE streamed USING parquet LOCATION '{folder}/streamed' AS"
        connection.execute(f"INSERT INTO streamed {query}" if file else f"CREATE {location} {query}")
    connection.execute(
        f"""
        CREATE TABLE held USING parquet LOCATION '{folder}/held' AS
        SELECT id AS k, id % 10 AS g, concat('a name that is as long as names often are, ', id) AS n
        FROM range({rows // 2})
        """
    )


def run(
    connection: Connection, query: str, *, adaptive: bool
) -> tuple[float, list[tuple[object, ...]], list[str]]:
    """Run the query as a job; return the seconds until its end, its rows, and the kinds of changes."""
    start = time.perf_counter()
    job = connection.session.submit_job(query, options={"adaptive": str(adaptive)})
    job.wait()
    seconds = time.perf_counter() - start
    rows = sorted(map(tuple, job.result().collect()), key=repr)
    events = connection.execute(
        "SELECT content FROM sys.job_events WHERE job = ? AND event = 'plan_changed'", (job.id,)
    ).fetchall()
    connection.execute(f"DROP JOB `{job.id}`")
    return seconds, rows, [json.loads(str(content))["change"]["kind"] for (content,) in events]


def measure(connection: Connection, name: str, query: str, rounds: int) -> None:
    """Run the query in turn with and without changes, and print the medians."""
    times: dict[bool, list[float]] = {True: [], False: []}
    kinds: list[str] = []
    answers = []
    for _ in range(rounds):
        for adaptive in (True, False):
            seconds, rows, changes = run(connection, query, adaptive=adaptive)
            times[adaptive].append(seconds)
            answers.append(rows)
            kinds += changes
    assert all(rows == answers[0] for rows in answers), "the answers differ"
    changed, fixed = statistics.median(times[True]), statistics.median(times[False])
    made = ", ".join(sorted(set(kinds))) or "none"
    gain = fixed / changed
    print(f"{name}: {changed:.2f} s, without changes {fixed:.2f} s: {gain:.2f} times; changes: {made}")


def main() -> None:
    """Measure both joins."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        sqlfront.connect(job_store=f"{folder}/store") as connection,
    ):
        make_tables(connection, folder, options.rows)
        measure(connection, "a key with most rows", GIANT_KEY, options.rounds)
        measure(connection, "a small held side", FILTERED, options.rounds)


if __name__ == "__main__":
    main()
