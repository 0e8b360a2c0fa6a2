"""Jobs whose log or outputs fill a real disk: the failure is loud, and no answer is wrong."""

import os
from pathlib import Path

import pytest

from sqlfront_engine.durable.event_store.events import JobEnd
from sqlfront_engine.durable.event_store.settings import FailurePolicy
from sqlfront_engine.durable.stages import cut
from sqlfront_values.errors import OperationalError
from tests.engine.durable.durable_jobs import (
    join_dag,
    noted_tasks,
    right_answer,
    rows_of,
    run_job,
    state_in,
)
from tests.small_disks import enlarge, small_disk

PLAN = cut(join_dag("unused"))
#: Room for a part of the log.
LOG = "12k"


def test_disk_full(tmp_path: Path) -> None:
    """The log finds no room: the job stops, and goes on under a successor when there is room again."""
    ledger, spool = tmp_path / "ledger", tmp_path / "spool"
    with small_disk(tmp_path / "disk", LOG) as disk:
        with pytest.raises(OperationalError, match="No space left on device"):
            run_job(disk, str(ledger), spool=spool)
        before = state_in(disk)
        ledger.unlink()
        enlarge(disk, "1m")

        ended = run_job(disk, str(ledger), spool=spool)

    assert before.ended is None
    assert before.finished
    assert rows_of(ended.result) == right_answer()
    assert not set(before.finished) & set(noted_tasks(ledger, PLAN))
    assert len(os.listdir(spool)) == 1


def test_disk_full_of_an_unprotected_job(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    with small_disk(tmp_path / "disk", LOG) as disk:
        ended = run_job(disk, str(ledger), spool=tmp_path / "spool", policy=FailurePolicy.UNPROTECTED)
        logged = state_in(disk)

    assert logged.ended is None
    assert rows_of(ended.result) == right_answer()
    ran = noted_tasks(ledger, PLAN)
    assert len(ran) == len(set(ran))


def test_disk_full_of_outputs(tmp_path: Path) -> None:
    """A job whose outputs find no room fails, says why, and leaves no file."""
    with small_disk(tmp_path / "disk", "200k") as disk:
        ended = run_job(tmp_path, str(tmp_path / "ledger"), spool=disk / "spool")
        left = [path for path in disk.rglob("*") if path.is_file()]

    assert ended.state is JobEnd.FAILED
    assert ended.error is not None
    assert "No space left on device" in ended.error.message
    assert left == []
