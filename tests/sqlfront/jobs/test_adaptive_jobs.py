"""Durable jobs whose plans change while they run: the rows are those of the plain session."""

import json
import random
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import sqlfront
from sqlfront.connection import Connection
from sqlfront.jobs.durable_job import DurableJob
from sqlfront_planner.lowering import joins

#: The table ``streamed`` has several files, so that several tasks write its rows.
PARTS = 5


def _part(part: int) -> str:
    """The rows of a file of ``streamed``: nine of ten rows have the key 7, one of 20 none; the other keys are
    those of ``held``, and some more."""
    return f"""
    SELECT id, CASE WHEN id % 100 < 90 THEN 7 WHEN id % 100 < 95 THEN NULL ELSE id % 600 END AS k,
        id * 7919 % 1000 AS v, concat('s', id % 13) AS t
    FROM range(20000) WHERE id DIV 4000 = {part}
    """


#: Two rows of each key, some of which no row of ``streamed`` has, and some rows without a key.
HELD = """
    SELECT CASE WHEN id % 50 = 0 THEN NULL ELSE id % 400 END AS k, id % 9 AS g, concat('name', id) AS n
    FROM range(800)
"""
#: A second table to join with, by another key.
GROUPS = "SELECT id AS g, concat('group', id) AS gn FROM range(7)"
TABLES = {"streamed": _part(0), "held": HELD, "groups": GROUPS}

#: Tasks share buckets, joins keep their exchanges.
SPLIT = {"task-size": "1", "parallelism": "5", "broadcast-size": "0"}
#: Joins of few held rows do without an exchange.
BROADCAST = {"task-size": "1", "parallelism": "5"}


def make_tables(connection: Connection, folder: Path) -> None:
    """Make the tables in files below the folder."""
    for name, query in TABLES.items():
        connection.execute(f"CREATE TABLE {name} USING parquet LOCATION '{folder}/{name}' AS {query}")
    for part in range(1, PARTS):
        connection.execute(f"INSERT INTO streamed {_part(part)}")


@pytest.fixture(scope="module")
def exchanges() -> Iterator[None]:
    """A planner by which joins exchange both sides, whatever it knows of the tables."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joins, "BROADCAST_SHARE", 0.0)
        yield


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory, exchanges: None) -> Iterator[Connection]:
    """A session with the tables."""
    folder = tmp_path_factory.mktemp("adaptive")
    with sqlfront.connect(job_store=str(folder / "store"), collect_rows=1) as connection:
        make_tables(connection, folder)
        yield connection


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory, exchanges: None) -> Iterator[Connection]:
    """A session with the tables, and with members in processes of their own. The table ``spread`` has the
    rows of ``streamed``, in the memory of the members."""
    folder = tmp_path_factory.mktemp("adaptive members")
    with sqlfront.connect(
        job_store=str(folder / "store"), members=2, launcher="local", workers=1, collect_rows=1
    ) as connection:
        make_tables(connection, folder)
        connection.execute("CREATE TABLE spread USING memory CLUSTERED BY (id) AS SELECT * FROM streamed")
        yield connection


def changes(connection: Connection, job: DurableJob) -> list[str]:
    """The kinds of the changes of a job's plan."""
    found = connection.execute(
        "SELECT content FROM sys.job_events WHERE job = ? AND event = 'plan_changed' ORDER BY sequence",
        (job.id,),
    )
    return [json.loads(str(content))["change"]["kind"] for (content,) in found.fetchall()]


def check(connection: Connection, query: str, options: Mapping[str, str]) -> list[str]:
    """Compare the rows of the query as a job with those of the plain session; return the kinds of the changes
    of the job's plan."""
    right = connection.execute(query).fetchall()
    job = connection.session.submit_job(query, options=dict(options))
    found = job.result().collect()
    if re.search(r"ORDER BY [^)]*$", query):
        assert found == right, query
    else:
        assert sorted(found, key=repr) == sorted(right, key=repr), query
    kinds = changes(connection, job)
    connection.execute(f"DROP JOB `{job.id}`")
    return kinds


JOINS = {
    "inner": "SELECT s.id, s.v, h.n FROM streamed s JOIN held h ON s.k = h.k",
    "left": "SELECT s.id, s.t, h.n FROM streamed s LEFT JOIN held h ON s.k = h.k",
    "semi": "SELECT s.id FROM streamed s LEFT SEMI JOIN held h ON s.k = h.k AND h.g <> s.v % 9",
    "anti": "SELECT s.id FROM streamed s LEFT ANTI JOIN held h ON s.k = h.k AND h.g > s.v % 9",
    "residual": "SELECT s.id, h.n FROM streamed s LEFT JOIN held h ON s.k = h.k AND h.g + s.v % 3 > 8",
    "null-safe": "SELECT s.id, h.g FROM streamed s JOIN held h ON s.k <=> h.k AND h.g = s.v % 9",
    "aggregates": """
        SELECT h.g, count(*) AS n, sum(s.v) AS v, count(DISTINCT s.t) AS t, min(h.n) AS m
        FROM streamed s LEFT JOIN held h ON s.k = h.k GROUP BY h.g
    """,
    "count": "SELECT count(*) AS n, sum(h.g) AS g FROM streamed s JOIN held h ON s.k = h.k",
    "limit": "SELECT s.id, h.n FROM streamed s JOIN held h ON s.k = h.k ORDER BY s.v, s.id, h.n LIMIT 20",
    "ordered": """
        SELECT s.id, h.n FROM streamed s JOIN held h ON s.k = h.k AND h.g > 3 ORDER BY s.v, s.id, h.n
    """,
    "twice": """
        SELECT g.gn, s.t, count(*) AS n
        FROM streamed s JOIN held h ON s.k = h.k JOIN groups g ON g.g = h.g GROUP BY g.gn, s.t
    """,
}


@pytest.mark.parametrize("query", JOINS.values(), ids=JOINS)
def test_tasks_share_the_rows_of_a_giant_key(connection: Connection, query: str) -> None:
    assert "split_buckets" in check(connection, query, SPLIT)


@pytest.mark.parametrize("query", JOINS.values(), ids=JOINS)
def test_few_held_rows_save_the_exchange(connection: Connection, query: str) -> None:
    assert "broadcast_join" in check(connection, query, BROADCAST)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT s.id, h.n FROM streamed s FULL JOIN held h ON s.k = h.k",
        "SELECT s.k, count(*) AS n FROM streamed s GROUP BY s.k",
        "SELECT id, row_number() OVER (PARTITION BY k ORDER BY id) AS r FROM streamed",
        "SELECT s.k, count(*) AS n FROM streamed s JOIN held h ON s.k = h.k GROUP BY s.k",
    ],
)
@pytest.mark.parametrize("options", [SPLIT, BROADCAST], ids=["split", "broadcast"])
def test_rows_that_belong_together_stay_together(
    connection: Connection, query: str, options: Mapping[str, str]
) -> None:
    assert not check(connection, query, options)


def test_a_filter_whose_effect_nobody_knows(connection: Connection) -> None:
    """The planner takes the held side for large, and the job finds it small."""
    query = """
        SELECT s.id, b.n FROM streamed s
        JOIN (SELECT a.k, a.n FROM held a JOIN held b ON a.n = reverse(reverse(b.n)) WHERE length(a.n) < 6) b
        ON s.k = b.k
    """
    assert "broadcast_join" in check(connection, query, BROADCAST)


def test_the_option_keeps_the_plan(connection: Connection) -> None:
    for options in (SPLIT, BROADCAST):
        assert not check(connection, JOINS["left"], options | {"adaptive": "false"})


def test_a_wrong_value_of_the_option_is_refused(connection: Connection) -> None:
    with pytest.raises(sqlfront.ProgrammingError, match="takes true or false, not 'perhaps'"):
        connection.session.submit_job("SELECT 1", options={"adaptive": "perhaps"})


def test_changes_are_shown(connection: Connection) -> None:
    explained = connection.execute(f"EXPLAIN CREATE JOB j AS {JOINS['left']}").fetchall()
    job = connection.session.submit_job(JOINS["left"], name="shown", options=BROADCAST)
    job.result().collect()

    ((change,),) = connection.execute(
        "SELECT plan_change FROM sys.job_stages WHERE job = ? AND plan_change IS NOT NULL", (job.id,)
    ).fetchall()
    assert str(change).startswith(
        "stage 2 joins the rows of stage 0 without an exchange: stage 1 wrote only "
    )
    facts = {row[0]: row[1] for row in connection.execute("DESCRIBE JOB shown").fetchall()}
    assert facts["plan changed"] == change
    # The stage whose vertices went to the join never begins.
    stages = connection.execute("SELECT stage FROM sys.job_stages WHERE job = ?", (job.id,)).fetchall()
    assert [stage for (stage,) in stages] == [1, 2, 3]
    assert facts["stages"] == "3 of 3"
    assert connection.execute(f"EXPLAIN CREATE JOB j AS {JOINS['left']}").fetchall() == explained
    connection.execute("DROP JOB shown")


# ---- members


@pytest.mark.xdist_group("members of durable jobs")
@pytest.mark.parametrize("table", ["streamed", "spread"])
@pytest.mark.parametrize(
    ("options", "kind"), [(SPLIT, "split_buckets"), (BROADCAST, "broadcast_join")], ids=["split", "broadcast"]
)
def test_members_run_the_changed_plan(
    members: Connection, table: str, options: Mapping[str, str], kind: str
) -> None:
    """Members learn the plan before it changes. Tasks that read a table of the members run in the session."""
    assert kind in check(members, JOINS["aggregates"].replace("streamed", table), options)


# ---- random queries


#: Tables to join with, with the columns k, g and n.
INNER = (
    "held",
    "(SELECT * FROM held WHERE g < 4)",
    "(SELECT * FROM held WHERE g < 0)",
    "(SELECT k, min(g) AS g, max(n) AS n FROM held GROUP BY k HAVING count(*) < 3)",
    "(SELECT * FROM held WHERE length(n) < 6 UNION ALL SELECT * FROM held WHERE g = 3)",
    "(SELECT k, v AS g, t AS n FROM streamed WHERE id < 400)",
)
KINDS = ("JOIN", "LEFT JOIN", "LEFT SEMI JOIN", "LEFT ANTI JOIN", "RIGHT JOIN", "FULL JOIN")
KEYS = ("s.k = {0}.k", "s.k <=> {0}.k", "s.k = {0}.k AND s.v % 9 = {0}.g", "s.v % 400 = {0}.k")


def random_query(chance: random.Random) -> str:
    """A query with one to three joins, on keys that are skewed or not, and something above them."""
    source, columns = "streamed s", ["s.id", "s.k", "s.v", "s.t"]
    for name in "abc"[: chance.randint(1, 3)]:
        kind, key = chance.choice(KINDS), chance.choice(KEYS)
        if chance.random() < 0.3:
            key += f" AND s.v % 7 + {{0}}.g > {chance.randint(0, 9)}"
        source += f" {kind} {chance.choice(INNER)} {name} ON {key.format(name)}"
        if "SEMI" not in kind and "ANTI" not in kind:
            columns += [f"{name}.g", f"{name}.n"]
    source += chance.choice(["", f" WHERE s.v < {chance.randint(0, 1000)}", " WHERE s.id % 3 = 0"])
    one, other = chance.choice(columns), chance.choice(columns)
    row = ", ".join(f"{column} AS c{place}" for place, column in enumerate(columns))
    everything = ", ".join(f"c{place}" for place in range(len(columns)))
    return chance.choice(
        [
            f"SELECT {row} FROM {source}",
            f"SELECT {one} AS x, count(*) AS n, sum(s.v) AS v, max(s.t) AS m FROM {source} GROUP BY {one}",
            f"SELECT * FROM (SELECT {row} FROM {source}) ORDER BY {everything} LIMIT {chance.randint(1, 50)}",
            f"SELECT DISTINCT {one} AS x, {other} AS y FROM {source}",
            f"SELECT count(*) AS n, count({one}) AS c, sum(s.v) AS v FROM {source}",
        ]
    )


@pytest.mark.parametrize(
    "seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(8, 400))]
)
def test_random_queries_have_the_rows_of_the_plain_session(connection: Connection, seed: int) -> None:
    chance = random.Random(seed)
    query = random_query(chance)

    check(connection, query, chance.choice([SPLIT, BROADCAST, BROADCAST | {"broadcast-size": "4k"}]))
