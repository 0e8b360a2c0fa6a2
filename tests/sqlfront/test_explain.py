"""EXPLAIN and ``Result.stats``: what a query reads, on which members, and what each step did."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sqlfront
from sqlfront import Connection
from sqlfront.cluster.embedded import EmbeddedMembers
from sqlfront.config import Config
from sqlfront_cluster.members.protocol.member_list import MemberInfo, MemberList
from sqlfront_connectors.memory.spread import moves
from sqlfront_connectors.memory.spread.table import SpreadTable, place_anew
from sqlfront_planner.catalog import TableEntry
from sqlfront_planner.explain.explanation import PartialRead
from sqlfront_values.partitioning.partitions import key_hasher

TABLES = (
    "CREATE TABLE o (k BIGINT, c BIGINT, p DOUBLE) USING memory CLUSTERED BY (k) INTO 271 BUCKETS",
    "INSERT INTO o SELECT id, id % 100, id * 1.5D FROM range(20000)",
    "CREATE TABLE l (k BIGINT, n INT) USING memory CLUSTERED BY (k, n) INTO 5 BUCKETS",
    "INSERT INTO l SELECT id % 2000, CAST(id AS INT) FROM range(6000)",
)
ALL = "(embedded-0, embedded-1, embedded-2)"


def filled(members: int) -> Connection:
    connection = sqlfront.connect(config=Config(members=members))
    for statement in TABLES:
        connection.execute(statement)
    return connection


@pytest.fixture(scope="module")
def alone() -> Iterator[Connection]:
    with filled(1) as connection:
        yield connection


@pytest.fixture(scope="module")
def three() -> Iterator[Connection]:
    with filled(3) as connection:
        yield connection


def plan(connection: Connection, text: str, parameters: tuple[object, ...] | None = None) -> list[str]:
    ((found,),) = connection.cursor().execute(text, parameters).fetchall()
    return str(found).splitlines()


def structure(connection: Connection, text: str) -> dict[str, Any]:
    """A plan in JSON."""
    found: dict[str, Any] = json.loads("\n".join(plan(connection, text)))
    return found


def scans(connection: Connection, text: str, parameters: tuple[object, ...] | None = None) -> list[str]:
    """What the plan says of its scans."""
    lines = plan(connection, text, parameters)
    return [line.strip() for line in lines[lines.index("Scans:") + 1 :]]


@pytest.mark.parametrize("words", ["", "EXTENDED ", "ANALYZE ", "(ANALYZE, EXTENDED) "])
@pytest.mark.parametrize("text", ["SELECT 1", "SELECT count(*) FROM o", "SELECT p FROM o WHERE k = 1"])
def test_the_first_line_says_lane_and_reason(alone: Connection, words: str, text: str) -> None:
    lane = alone.session.execute(text).stats.lane

    assert plan(alone, f"EXPLAIN {words}{text}")[0].startswith(f"lane: {lane} (")


# ---- what is read

READS = [
    ("SELECT p FROM o WHERE k = 7", None, ["o by k = 7: partitions 1 of 271 (203)"]),
    ("SELECT p FROM o WHERE k = ?", (7,), ["o by k = 7: partitions 1 of 271 (203)"]),
    ("SELECT p FROM o WHERE k IN (?, 8)", (7,), ["o by k IN (7, 8): partitions 2 of 271 (203, 268)"]),
    ("SELECT p FROM o WHERE k = 7 AND k = 8", None, ["o by k, no key: partitions 0 of 271"]),
    ("SELECT p FROM o WHERE c = 7", None, ["o: all 271 partitions of k"]),
    ("SELECT k FROM l WHERE k = 1 AND n = 2", None, ["l by (k, n) = (1, 2): partitions 1 of 5 (2)"]),
    ("SELECT n FROM l WHERE k = 1", None, ["l: all 5 partitions of (k, n)"]),
]


@pytest.mark.parametrize(("text", "parameters", "expected"), READS)
def test_scans_name_keys_and_partitions(
    alone: Connection, text: str, parameters: tuple[object, ...] | None, expected: list[str]
) -> None:
    assert scans(alone, f"EXPLAIN {text}", parameters) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT p FROM o WHERE k = 7", "members 1 of 3 (embedded-2)"),
        ("SELECT p FROM o WHERE k = 7 AND k = 8", "members 0 of 3"),
        ("SELECT p FROM o WHERE c = 7", f"members 3 of 3 {ALL}, chunks 3 of 3"),
        ("SELECT sum(p) FROM o WHERE k BETWEEN 1 AND 200", f"members 3 of 3 {ALL}"),
    ],
)
def test_scans_name_members(three: Connection, text: str, expected: str) -> None:
    (line,) = scans(three, f"EXPLAIN {text}")

    assert line.endswith(expected)


def test_many_keys_are_cut(alone: Connection) -> None:
    (line,) = scans(alone, "EXPLAIN SELECT p FROM o WHERE k BETWEEN 1 AND 50")

    assert line.startswith("o by k IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ... 50 in all): partitions ")


def test_many_partitions_are_cut(alone: Connection) -> None:
    (line,) = scans(alone, "EXPLAIN SELECT p FROM o WHERE k BETWEEN 1 AND 50")
    ids = line.rpartition("(")[2].removesuffix(")").split(", ")

    assert ids[-1] == "..."
    assert [int(each) for each in ids[:-1]] == sorted({int(each) for each in ids[:-1]})
    assert len(ids) == 11


def test_a_lookup_names_its_members(three: Connection) -> None:
    assert "members: 1 of 3 (embedded-2)" in plan(three, "EXPLAIN SELECT p FROM o WHERE k = 7")
    assert "members: 2 of 3 (embedded-1, embedded-2)" in plan(
        three, "EXPLAIN SELECT p FROM o WHERE k IN (7, 8)"
    )


def test_json_has_all_partitions_and_members(three: Connection) -> None:
    found = structure(three, "EXPLAIN (FORMAT json) SELECT p FROM o WHERE k BETWEEN 1 AND 50")["job"]
    (scan,) = found["scans"]

    assert len(scan["partition_ids"]) == scan["partitions"]["read"] > 10
    assert scan["member_names"] == found["members"] == ["embedded-0", "embedded-1", "embedded-2"]


def test_a_job_names_its_members(three: Connection) -> None:
    assert "members: 3 of 3 (embedded-0, embedded-1, embedded-2)" in plan(
        three, "EXPLAIN SELECT sum(p) FROM o"
    )


def test_scans_name_chunks_that_are_skipped() -> None:
    with sqlfront.connect() as connection:
        connection.execute("CREATE TABLE t USING memory AS SELECT id AS k FROM range(200000)")
        found = scans(connection, "EXPLAIN SELECT sum(k) FROM t WHERE k < ?", (100,))
        stats = connection.session.execute("SELECT sum(k) FROM t WHERE k < 100").stats

    assert found == ["t: chunks 1 of 4 (3 skipped)"]
    assert stats.scans[0].chunks == PartialRead(1, 4)


def test_scans_name_files_and_row_groups_that_are_skipped(tmp_path: Path) -> None:
    rows = "SELECT id AS v, CAST(id % 4 AS INT) AS p FROM range(100)"
    with sqlfront.connect() as connection:
        connection.execute(f"CREATE TABLE t USING parquet PARTITIONED BY (p) LOCATION '{tmp_path}' AS {rows}")
        found = scans(connection, "EXPLAIN SELECT sum(v) FROM t WHERE p = ? AND v > 500", (2,))
        shutil.rmtree(tmp_path)

        assert found == ["t: files 1 of 4 (3 skipped), row groups 0 of 1 (1 skipped)"]
        with pytest.raises(
            sqlfront.OperationalError, match="FILE_NOT_EXIST"
        ):  # as the query itself would say
            plan(connection, "EXPLAIN SELECT sum(v) FROM t")


def test_without_pruning_all_is_read(three: Connection) -> None:
    three.execute("SET sqlfront.pruning = false")
    try:
        found = scans(three, "EXPLAIN SELECT sum(p) FROM o WHERE k BETWEEN 1 AND 200")
    finally:
        three.execute("SET sqlfront.pruning = true")

    assert found == [f"o: all 271 partitions of k, members 3 of 3 {ALL}, chunks 3 of 3"]


# ---- what was done


@pytest.mark.parametrize("members", [1, 3])
def test_analyze_counts_rows_of_every_step(members: int, request: pytest.FixtureRequest) -> None:
    connection = request.getfixturevalue("alone" if members == 1 else "three")
    text = "SELECT c, count(*) AS n FROM o WHERE p > 3000 GROUP BY c"
    lines = plan(connection, f"EXPLAIN ANALYZE {text}")
    (scan,) = [line for line in lines if "MemoryScan" in line]

    assert lines[1].startswith("time: ")
    assert "[rows 20,000, batches " in scan
    assert re.search(r"\d KiB, busy [\d.]+ ms", scan)
    by_member = [line.strip() for line in lines[lines.index(scan) :] if line.strip().startswith("@ ")]
    assert len(by_member) == (3 if members == 3 else 0)


def test_analyze_counts_on_every_member(three: Connection) -> None:
    found = structure(three, "EXPLAIN (ANALYZE, FORMAT json) SELECT count(*) FROM o WHERE c < 50")["job"]
    scan = next(vertex for vertex in found["vertices"] if vertex["operator"].startswith("MemoryScan"))
    rows = {member: counters["rows"] for member, counters in scan["members"].items()}

    assert sorted(rows) == found["members"] == ["embedded-0", "embedded-1", "embedded-2"]
    assert sum(rows.values()) == scan["counters"]["rows"] == 20_000
    assert scan["counters"]["bytes"] == sum(each["bytes"] for each in scan["members"].values()) > 0


def test_analyze_counts_what_is_shared(alone: Connection) -> None:
    shared = "WITH r AS (SELECT c, rand() AS x FROM o) SELECT count(*) FROM r a JOIN r b ON a.x = b.x"
    (part,) = structure(alone, f"EXPLAIN (ANALYZE, FORMAT json) {shared}")["shared"]

    assert part["job"]["vertices"][0]["counters"]["rows"] == 20_000


def test_analyze_of_a_few_rows_runs_them(alone: Connection) -> None:
    lines = plan(alone, "EXPLAIN ANALYZE SELECT p FROM o WHERE k IN (1, 2, -1)")

    assert any("MemoryScan: o, 3 keys  [rows 2, " in line for line in lines)


@pytest.mark.parametrize("form", ["dot", "mermaid", "json"])
def test_formats_of_a_few_rows(alone: Connection, form: str) -> None:
    text = "\n".join(plan(alone, f"EXPLAIN (FORMAT {form}) SELECT p FROM o WHERE k = 7"))

    assert "MemoryScan: o, one key" in text
    assert json.loads(text)["job"]["scans"][0]["keys"] == [["7"]] if form == "json" else "k = 7" in text


# ---- statistics


def test_stats_of_a_lookup(alone: Connection) -> None:
    stats = alone.session.execute("SELECT p FROM o WHERE k = ?", [7]).stats
    (scan,) = stats.scans

    assert stats.lane == "direct"
    assert (scan.table, scan.by, scan.keys) == ("o", ("k",), (("7",),))
    assert scan.partitions is not None
    assert (scan.partitions.read, scan.partitions.total) == (1, 271)
    assert [vertex.operator for vertex in stats.vertices] == ["MemoryScan: o", "Result"]


def test_stats_of_a_job_grow_with_its_reading(alone: Connection) -> None:
    result = alone.session.execute("SELECT c, sum(p) FROM o WHERE k > ? GROUP BY c", [100])
    result.collect()
    stats = result.stats
    counted = {vertex.name: vertex.counters.rows for vertex in stats.vertices if vertex.counters is not None}

    assert stats.lane == "light"
    assert counted["result"] == 100
    assert stats.scans[0].table == "o"
    assert stats.members == ("embedded",)


def test_stats_of_a_job_name_its_members(three: Connection) -> None:
    result = three.session.execute("SELECT sum(p) FROM o WHERE c = 5")
    result.collect()

    assert result.stats.members == ("embedded-0", "embedded-1", "embedded-2")


def test_stats_outlive_their_tables() -> None:
    with filled(1) as connection:
        lookup = connection.session.execute("SELECT p FROM o WHERE k = 7")
        job = connection.session.execute("SELECT sum(p) FROM o WHERE c = 7")
        for table in ("o", "l"):
            connection.execute(f"DROP TABLE {table}")

        assert [scan.table for scan in lookup.stats.scans + job.stats.scans] == ["o", "o"]


def test_stats_of_what_is_no_query(alone: Connection) -> None:
    stats = alone.session.execute("SHOW TABLES").stats

    assert (stats.lane, stats.scans, stats.vertices, stats.affected) == ("command", (), (), None)


def test_stats_show_the_short_of_it(alone: Connection) -> None:
    stats = alone.session.execute("SELECT p FROM o WHERE k = 7").stats

    assert repr(stats).startswith("Statistics(lane='direct', reason='o by key, no job', seconds=")
    assert repr(stats).endswith(", affected=None)")


def test_explain_of_a_result_shows_the_values_that_it_ran_with(
    alone: Connection, capsys: pytest.CaptureFixture[str]
) -> None:
    alone.session.execute("SELECT sum(p) FROM o WHERE c = ?", [5]).explain()
    alone.session.execute("SELECT p FROM o WHERE k = ?", [7]).explain()
    printed = capsys.readouterr().out

    assert "Filter: c#1 = 5" in printed
    assert "o by k = 7: partitions 1 of 271" in printed


# ---- while rows move to other members


def hand_over(connection: Connection, leaving: str) -> None:
    """This member hands over: the others own the partitions, and the rows are where they were."""
    members = connection.session.cluster
    assert isinstance(members, EmbeddedMembers)
    names = [each.name for each in members.member_list.members]
    staying = [name for name in names if name != leaving]
    owners = tuple(staying[number % len(staying)] for number in range(271))
    infos = tuple(MemberInfo(name, hands_over=name == leaving) for name in names)
    for member in members._members.members:
        member.members = MemberList(1, infos, owners, dealt=1)
        members._stores[member.name]._dealt = lambda: 1


def test_members_are_named_where_the_rows_are_while_they_move(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moves, "STEP_BYTES", 30_000)
    with filled(3) as connection:
        hand_over(connection, "embedded-2")
        entry = connection.session.context.catalog.lookup(("o",))
        assert isinstance(entry, TableEntry) and isinstance(entry.table, SpreadTable)
        named = set[str]()
        for taken in range(4):
            held = entry.table.snapshot().held
            assert {*held.owners} == {"embedded-0", "embedded-1", "embedded-2"}
            for key in range(30):
                owner = held.owners[key_hasher([pa.int64()])((key,)) % 271]
                named.add(owner)
                text = f"SELECT p FROM o WHERE k = {key}"
                assert f"members: 1 of 3 ({owner})" in plan(connection, f"EXPLAIN {text}"), taken
                assert connection.execute(text).fetchall() == [(1.5 * key,)]
            assert f"members: 3 of 3 {ALL}" in plan(connection, "EXPLAIN SELECT sum(p) FROM o")
            answers = iter((False, True))
            place_anew(entry.table, lambda answers=answers: next(answers))  # type: ignore[misc]
        assert named == {"embedded-0", "embedded-1", "embedded-2"}
        place_anew(entry.table)
        assert "members: 2 of 2 (embedded-0, embedded-1)" in plan(connection, "EXPLAIN SELECT sum(p) FROM o")
