"""Completion without a terminal: the candidates at the mark ``|`` of a text."""

import gc
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import sqlfront
from sqlfront.shell.interactive.completion.candidates import CandidateKind, Candidates

TABLES = [
    "create table flights using memory as select 1 as id, 'x' as carrier, 2.5 as dep_delay, 3 as `odd name`",
    "create table planes using memory as select 'p' as tailnum, 2000 as year",
    "create view late as select id as late_id, carrier from flights",
    "create temporary view young as select * from planes",
]


@pytest.fixture(scope="module")
def session() -> Iterator[sqlfront.Session]:
    with sqlfront.Session() as session:
        for text in TABLES:
            session.execute(text)
        yield session


@pytest.fixture(scope="module")
def candidates(session: sqlfront.Session) -> Candidates:
    return Candidates(session, {"d": "describe", "dt": "tables", "format": "formats", "x": "vertical"})


@pytest.fixture
def with_jobs(tmp_path: Path) -> Iterator[Candidates]:
    """The candidates of a session with two durable jobs."""
    with sqlfront.connect(job_store=str(tmp_path / "store")) as connection:
        for name in ("daily", "odd name"):
            connection.session.submit_job("SELECT 1", name=name).wait()
        yield Candidates(connection.session, {})


def at_mark(candidates: Candidates, marked: str, *kinds: CandidateKind) -> list[str]:
    """The candidates, all or those of some kinds, at the mark of a text."""
    place = marked.index("|")
    found = candidates.at(marked[:place] + marked[place + 1 :], place)
    return [each.text for each in found if not kinds or each.kind in kinds]


COLUMN, RELATION = CandidateKind.COLUMN, CandidateKind.RELATION
ALL_FLIGHTS = ["id", "carrier", "dep_delay", "`odd name`"]
COLUMNS = {
    "select | from flights": ALL_FLIGHTS,
    "select c| from flights": ["carrier"],
    "select f.| from flights f": ALL_FLIGHTS,
    "select f.| from flights f join late l on true": ALL_FLIGHTS,
    "select * from flights f join late l on f.id = l.|": ["late_id", "carrier"],
    "select * from flights where dep|": ["dep_delay"],
    "select * from flights order by |": ALL_FLIGHTS,
    "select id as k from flights order by |": [*ALL_FLIGHTS, "k"],
    "select id as k from flights group by k having |": [*ALL_FLIGHTS, "k"],
    "with a as (select id as k, carrier c from flights) select | from a": ["k", "c"],
    "with a(x, y) as (select 1, 2), b as (select * from a) select | from b": ["x", "y"],
    "with a as (select | from flights) select 1 from a": ALL_FLIGHTS,
    "select x.| from (select id, dep_delay + 1 as later from flights) x": ["id", "later"],
    "select x.| from (select f.*, 1 as one from flights f) as x": [*ALL_FLIGHTS, "one"],
    "select | from (select id from flights union all select late_id from late) u": ["id"],
    "select 1 from flights union select | from planes": ["tailnum", "year"],
    "select 1 from flights f where exists (select 1 from late l where l.|": ["late_id", "carrier"],
    "select 1 from flights f where exists (select 1 from late l where f.|": ALL_FLIGHTS,
    "select (select max(|) from planes) from flights": ["tailnum", "year", *ALL_FLIGHTS],
    "select | from young": ["tailnum", "year"],
    "select | from (values (1, 2), (3, 4)) v": ["col1", "col2"],
    "select | from values (1, 2) as v(a, b)": ["a", "b"],
    "select | from flights lateral view explode(array(1)) e as item": [*ALL_FLIGHTS, "item"],
    "insert into flights (|": ALL_FLIGHTS,
    "update flights set |": ALL_FLIGHTS,
    "delete from flights where |": ALL_FLIGHTS,
    "select coalesce(f.id, f.|) from flights f": ALL_FLIGHTS,
    "select `od| from flights": [],
    "select f.`od| ": [],
    "select | from `flights`": ALL_FLIGHTS,
    "select 1; select | from planes": ["tailnum", "year"],
    "select | from planes; select 1 from flights": ["tailnum", "year"],
    "select id from flights fl|": [],
    "select 'c| from flights": [],
    "select 1 -- c| from flights": [],
    "select 1 /* c|": [],
    "select id is distinct from c| from flights": ["carrier"],
    "merge into flights f using planes p on f.|": ALL_FLIGHTS,
    "create job j as select | from planes": ["tailnum", "year"],
}


@pytest.mark.parametrize("marked", COLUMNS)
def test_columns_in_scope(candidates: Candidates, marked: str) -> None:
    assert at_mark(candidates, marked, COLUMN) == COLUMNS[marked]


OTHERS = {
    "select * from fl|": ["flights"],
    "select * from flights, p|": ["planes"],
    "with mine as (select 1) select * from m|": ["mine"],
    "describe table l|": ["late"],
    "select * from sys.mem|": ["members"],
    "SEL|": ["SELECT"],
    "sel|": ["select"],
    "select * from flights LEF|": ["LEFT"],
    "select * from flights left j|": ["join"],
    "can|": ["cancel"],
    "show jo|": ["jobs"],
    "drop job i|": ["if"],
    "cancel job if exists c|": [],
    "describe job ext|": ["extended"],
    "create job j o|": ["options"],
    "create job j as insert into fl|": ["flights"],
    "select * from job whe|": ["where"],
    "set sqlfront.lan|": ["sqlfront.lane"],
    r"\dt fl|": ["flights"],
    r"\for|": [r"\format"],
    r"\format par|": ["parquet"],
    r"\x a|": ["auto"],
}


@pytest.mark.parametrize("marked", OTHERS)
def test_relations_keywords_settings_and_commands(candidates: Candidates, marked: str) -> None:
    assert at_mark(candidates, marked) == OTHERS[marked]


def test_types_follow_as_in_a_cast(candidates: Candidates) -> None:
    assert "bigint" in at_mark(candidates, "select cast(id as big|")
    assert at_mark(candidates, "select id as big|") == []


def test_a_function_has_its_signature_and_help(candidates: Candidates) -> None:
    found = candidates.at("select date_ad", len("select date_ad"))

    assert [(each.text, each.shown) for each in found] == [("date_add(", "date_add(start_date, num_days)")]
    assert "num_days after start_date" in found[0].meta


def test_files_below_the_working_folder(
    candidates: Candidates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    for name in ("a.parquet", "b.csv", ".hidden.parquet"):
        (tmp_path / "data" / name).write_text("")
    monkeypatch.chdir(tmp_path)

    assert at_mark(candidates, "select * from parquet.`da|") == ["data/"]
    assert at_mark(candidates, "select * from parquet.`data/|") == ["data/a.parquet`"]
    assert at_mark(candidates, "select * from parquet.`data/|`") == ["data/a.parquet"]
    assert at_mark(candidates, "select * from csv.`missing/|") == []


def test_a_name_that_appears_is_completed(session: sqlfront.Session, candidates: Candidates) -> None:
    assert at_mark(candidates, "select | from newcomer", COLUMN) == []
    session.execute("create temporary view newcomer as select 1 as fresh")
    try:
        assert at_mark(candidates, "select | from newcomer", COLUMN) == ["fresh"]
    finally:
        session.execute("drop view newcomer")


STATEMENTS = [
    *(marked.replace("|", "") for marked in (*COLUMNS, *OTHERS)),
    "begin declare x int default 1; while x < 10 do set x = x + 1; end while; select x; end;",
    "create table t (a int, b struct<c: map<string, int>>) using parquet partitioned by (a) location 'x'",
    "select a, row_number() over (partition by b order by id desc rows between 1 preceding and current row)",
    "select 1 from flights tablesample (10 percent) where b like 'x%' escape '!' limit 10 offset 2",
    "from flights |> where id > 1 |> aggregate count(*) group by carrier",
    r"\set a 'b' ; \watch 3",
]


class FullCollections:
    """A listener of the garbage collector that counts collections of all objects."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, phase: str, info: dict[str, int]) -> None:
        self.count += phase == "start" and info["generation"] == 2


def test_no_beginning_of_a_statement_raises_collects_or_takes_long(candidates: Candidates) -> None:
    """Random beginnings, some with parts torn out. A slow one is repeated, since the machine may be busy."""
    chance = random.Random(5)
    candidates.warm()
    gc.collect()
    gc.callbacks.append(collections := FullCollections())
    try:
        for _ in range(2_000):
            text = chance.choice(STATEMENTS)
            if chance.random() < 0.4:
                first, second = sorted(chance.randrange(len(text) + 1) for _ in range(2))
                text = (
                    text[:first] + chance.choice(["", "(", ")", "'", "`", ",", ".", "日本"]) + text[second:]
                )
            place = chance.randrange(len(text) + 1)
            if _seconds(candidates, text, place) > 0.05:
                assert min(_seconds(candidates, text, place) for _ in range(3)) <= 0.05, text
    finally:
        gc.callbacks.remove(collections)
    assert collections.count <= 1


def _seconds(candidates: Candidates, text: str, place: int) -> float:
    began = time.thread_time()
    candidates.at(text, place)
    return time.thread_time() - began


def test_a_huge_text_is_left_alone(candidates: Candidates) -> None:
    assert candidates.at("select " + "a, " * 100_000, 300_000) == []


def test_deep_nesting_ends(candidates: Candidates) -> None:
    text = "select * from " + "(select * from " * 300 + "flights"
    assert isinstance(candidates.at(f"{text} where ", len(text) + 7), list)


def test_completion_starts_no_spark() -> None:
    with sqlfront.Session(spark="local[1]") as session:
        assert session.spark is not None
        before = session.spark.is_started  # a session of another test is taken at once
        found = Candidates(session, {})
        assert at_mark(found, "select * from nowhere where |") is not None
        assert at_mark(found, "select x.| from nowhere x") == []
        assert session.spark.is_started == before


def test_comments_stand_beside_the_names_in_the_menu() -> None:
    with sqlfront.Session() as session:
        session.execute(
            "create table seat (tail string comment 'as\npainted \u001b[31m', pos int comment "
            f"'{'x' * 10_000}') using memory comment 'one row a plane'"
        )
        session.execute("create view v as select tail, pos + 1 as next from seat")
        session.execute("cache table seat")
        candidates = Candidates(session, {})
        text = "select  from seat join v"
        columns = {each.text: each.meta for each in candidates.at(text, len("select "))}
        assert columns["tail"] == r"string of seat: as painted \x1b[31m"
        assert columns["pos"] == f"int of seat: {'x' * 39}…"
        assert columns["next"] == "int of v"
        (seat,) = candidates.at("select * from sea", len("select * from sea"))
        assert seat.meta == "table: one row a plane"


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("drop job |", ["daily", "`odd name`"]),
        ("cancel job if exists d|", ["daily"]),
        ("resume job `odd|", ["`odd name`"]),
        ("describe job extended |", ["daily", "`odd name`"]),
        ("create job d|", []),
        ("create or replace job |", []),
        ("select * from daily|", []),
    ],
)
def test_jobs(with_jobs: Candidates, marked: str, expected: list[str]) -> None:
    assert at_mark(with_jobs, marked, CandidateKind.JOB) == expected
