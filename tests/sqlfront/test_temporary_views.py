"""Temporary views over files; what needs none is in `temporary_views.slt`."""

from pathlib import Path

from sqlfront.config import Config
from sqlfront.session import Session


def rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in session.execute(sql).collect()]


def test_a_temporary_view_reads_the_files_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,x\n")
    with Session(Config()) as session:
        session.execute(f"CREATE TEMPORARY VIEW v USING csv OPTIONS (path '{tmp_path}', header true)")
        session.execute(
            f"CREATE GLOBAL TEMP VIEW v (k INT, s STRING) USING csv OPTIONS (path '{tmp_path}', header true)"
        )

        assert rows(session, "SELECT * FROM v") == [("1", "x")]
        assert rows(session, "SELECT * FROM global_temp.v") == [(1, "x")]
        assert rows(session, "SHOW TABLES") == [("", "v", True)]
        assert rows(session, "SHOW TABLES IN global_temp") == [("global_temp", "v", True), ("", "v", True)]

        session.execute("DROP VIEW v")
        session.execute("DROP VIEW global_temp.v")

    assert (tmp_path / "a.csv").exists()
