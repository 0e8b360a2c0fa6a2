"""Commands that show what there is, over an output of text."""

import io

from sqlfront import Session
from sqlfront.configuration import ShellOptions
from sqlfront.shell.interactive.commands.registry import run_text
from sqlfront.shell.interactive.display.screen import Screen
from sqlfront.shell.interactive.shell import Shell


def shown(session: Session, text: str) -> list[str]:
    """The lines that the shell shows for the text."""
    out = io.StringIO()
    with Shell(session, Screen(out, coloured=False), ShellOptions(), "table") as shell:
        assert run_text(shell, text)
    return [line.strip() for line in out.getvalue().splitlines()]


def test_the_indexes_of_a_cached_table_are_shown() -> None:
    with Session() as session:
        session.execute("create table k (a int, b int) using memory clustered by (a)")
        session.execute("create index i on k (b, a)")
        before = shown(session, r"\di")
        session.execute("cache table k")

        assert before == shown(session, r"\di") == shown(session, r"\di k") == ["k.i  b, a"]
        assert shown(session, r"\di x") == ["no index"]


def test_all_databases_are_shown() -> None:
    with Session() as session:
        assert [line.split()[0] for line in shown(session, r"\l")] == ["default", "information_schema", "sys"]


def test_comments_stand_beside_tables_and_columns() -> None:
    with Session() as session:
        session.execute(
            "create table seat (tail string comment 'as painted\\non it \u001b[31m', pos int) using memory"
            " comment 'one row a plane'"
        )
        session.execute("create view v comment 'of seats' as select tail from seat")
        session.execute("create temporary view tv as select pos from seat")

        assert shown(session, r"\dt seat") == ["seat  table: one row a plane"]
        assert shown(session, r"\dv *v") == ["v   view: of seats", "tv  temporary view"]
        described = shown(session, r"\d seat")
        assert any("as painted\\non it \\x1b[31m" in line for line in described)
        assert any("Comment" in line and "one row a plane" in line for line in described)
        assert "\x1b" not in "".join(described)
