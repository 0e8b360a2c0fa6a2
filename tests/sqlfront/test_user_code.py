"""Python functions run on members of other processes only where whoever started these has allowed it."""

from pathlib import Path

import pyarrow as pa
import pytest

import sqlfront
from sqlfront.cluster.processes import SERVICE
from sqlfront.config import Launcher
from sqlfront.pipeline import Pipeline, table
from sqlfront_cluster.launchers.local import LocalCluster

SECRET = "a secret"


def touch_with(session: sqlfront.Session, file: Path) -> int:
    """Call a function of ours for each row of the table t; returns for how many."""

    def touch(number: int) -> int:
        file.touch()
        return number

    rows = Pipeline().read(table(session, "t")).map(touch, pa.field("n", pa.int64()))
    return len(session.run_pipeline(rows.collect()).collect())


@pytest.mark.parametrize("allowed", [False, True])
def test_a_shared_cluster_runs_functions_only_if_its_starter_allows(allowed: bool, tmp_path: Path) -> None:
    with LocalCluster(2, workers=1, service=SERVICE, secret=SECRET.encode(), user_code=allowed) as cluster:
        where = f"sqlfront://{cluster.address.removeprefix('unix:')}"
        with sqlfront.Session(sqlfront.Config(cluster=where, secret=SECRET)) as session:
            session.sql("CREATE TABLE t USING memory AS SELECT id FROM range(1000)")
            if allowed:
                assert touch_with(session, tmp_path / "file") == 1000
            else:
                with pytest.raises(sqlfront.NotSupportedError, match="--allow-user-code"):
                    touch_with(session, tmp_path / "file")
            assert (tmp_path / "file").exists() == allowed
            assert session.sql("SELECT count(*) FROM t").collect()[0][0] == 1000


@pytest.mark.parametrize("said", [None, True, False])
def test_a_sessions_own_members_run_them_unless_told_otherwise(said: bool | None, tmp_path: Path) -> None:
    config = sqlfront.Config(launcher=Launcher.LOCAL, members=2, workers=1, allow_user_code=said)
    with sqlfront.Session(config) as session:
        session.sql("CREATE TABLE t USING memory AS SELECT id FROM range(1000)")
        if said is False:
            with pytest.raises(sqlfront.NotSupportedError, match="allow_user_code=True"):
                touch_with(session, tmp_path / "file")
        else:
            assert touch_with(session, tmp_path / "file") == 1000


def test_a_client_cannot_decide_for_a_cluster() -> None:
    with pytest.raises(sqlfront.ProgrammingError, match="cluster start --allow-user-code"):
        sqlfront.Config(cluster="sqlfront://", allow_user_code=True)
