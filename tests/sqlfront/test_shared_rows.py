"""What a query reads twice and might differ is computed once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sqlfront
from sqlfront.config import Config
from sqlfront.session import Session
from sqlfront_values.errors import OperationalError

LARGE = 200_000


@pytest.fixture(scope="module", params=[1, 4])
def session(request: pytest.FixtureRequest) -> Iterator[Session]:
    with Session(Config(workers=request.param)) as made:
        yield made


def rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in session.execute(sql).collect()]


@pytest.mark.parametrize("count", [5, LARGE])
@pytest.mark.parametrize("value", ["rand()", "rand(7)", "randn()", "uuid()", "(select rand())"])
def test_both_uses_of_a_with_query_see_the_same_rows(session: Session, value: str, count: int) -> None:
    found = rows(
        session,
        f"with c as (select id, {value} r from range({count})) "
        "select count(*) from c a join c b on a.id = b.id and a.r = b.r",
    )

    assert found == [(count,)]


@pytest.mark.parametrize(
    "sql",
    [
        "with c as (select rand() r) select count(*) from (select r from c union select r from c)",
        "with c as (select rand() r) select count(*) from c where r in (select r from c)",
        "with c as (select rand() r), d as (select r from c) select count(*) from c join d using (r)",
        "with c as (select rand() r), d as (select r from c) select count(*) from d a join d b using (r)",
    ],
)
def test_uses_in_subqueries_and_other_with_queries(session: Session, sql: str) -> None:
    assert rows(session, sql) == [(1,)]


def test_float_sums_are_the_same_in_both_uses_of_a_view(session: Session) -> None:
    session.execute(
        "create or replace temporary view sums as "
        f"select id % 7 k, sum(1 / (id + 1.0D)) s from range({LARGE}) group by 1"
    )

    assert rows(session, "select count(*) from sums a join sums b on a.k = b.k and a.s = b.s") == [(7,)]


def test_uses_of_a_view_draw_other_random_numbers(session: Session) -> None:
    session.execute("create or replace temporary view numbers as select rand() r")

    assert rows(session, "select count(*) from numbers a join numbers b using (r)") == [(0,)]


def test_the_rows_of_not_in_are_drawn_once(session: Session) -> None:
    sql = "select id not in (select cast(rand() * 2 as bigint) from range(1)) or id > 9 from range(2)"

    assert sorted(rows(session, sql)) == [(False,), (True,)]


def test_values_of_the_run_are_the_same_in_all_jobs(session: Session) -> None:
    sql = (
        "with c as (select rand() r, current_timestamp() t) "
        "select a.t = current_timestamp() from c a join c b using (r)"
    )

    assert rows(session, sql) == [(True,)]


def test_arguments_reach_the_shared_rows(session: Session) -> None:
    sql = "with c as (select rand() r from range(10) where id < ?) select count(*) from c natural join c d"

    assert session.execute(sql, [4]).collect() == [(4,)]


def test_one_use_is_computed_in_its_place(session: Session) -> None:
    text = str(session.execute("explain with c as (select rand() r) select * from c").collect()[0][0])

    assert "Shared" not in text


def test_explain_shows_what_is_computed_first(session: Session) -> None:
    sql = "explain with c as (select id, rand() r from range(5)) select * from c a join c b using (id)"
    lines = str(session.execute(sql).collect()[0][0]).splitlines()

    assert lines[lines.index("Shared rows c:") + 1 :] == [
        "  Result",
        "    Project: id#0, rand()",
        "      Range: 5 numbers from 0 by 1",
    ]


def test_shared_rows_count_against_the_querys_memory() -> None:
    with Session(Config(query_memory_limit=1 << 20)) as session:
        sql = (
            "with c as (select id, rand() r from range(1000000)) select count(*) from c a join c b using (id)"
        )
        with pytest.raises(OperationalError, match="shared rows c needs"):
            session.execute(sql)
        assert session.engine.statistics().memory.used == 0


def test_memory_is_given_back_with_the_result() -> None:
    with Session() as session:
        sql = "with c as (select id, rand() r from range(100000)) select a.r from c a join c b using (id)"
        session.execute(sql).collect()
        assert session.engine.statistics().memory.used == 0


def test_timeout_covers_the_shared_rows() -> None:
    with Session() as session:
        sql = (
            "with c as (select count(*) n, rand() r from range(100000) a, range(100000) b group by 2) "
            "select count(*) from c x join c y using (r)"
        )
        with pytest.raises(OperationalError, match=r"timeout of 0\.2 s"):
            session.execute(sql, timeout=0.2)


def test_the_module_function_shares_too() -> None:
    assert sqlfront.sql("with c as (select rand() r) select count(*) from c natural join c").collect() == [
        (1,)
    ]


def test_plans_are_made_for_the_sessions_workers() -> None:
    sql = "explain select id % 100000 k, count(*) from range(2000000) group by 1"
    texts = []
    for workers in (1, 8):
        with Session(Config(workers=workers)) as session:
            texts.append(str(session.execute(sql).collect()[0][0]))

    assert ["partitioned by #0" in text for text in texts] == [False, True]


@pytest.mark.parametrize(
    "sql",
    [
        "select count(*) from (select r < 0.5 k, min(r) m from n group by r < 0.5) where not k and m < 0.5",
        "select sum(int(m < 0.5 and r > 0.5)) from (select r, min(r) over (partition by r < 0.5) m from n)",
        "select count(*) from n join range(2) b on cast(r + 0.5 as bigint) = b.id where r < 0.4 and b.id = 1",
    ],
)
def test_keys_are_computed_from_the_column_not_from_another_draw(session: Session, sql: str) -> None:
    assert rows(session, sql.replace("from n", "from (select rand() r from range(1000)) n")) == [(0,)]
