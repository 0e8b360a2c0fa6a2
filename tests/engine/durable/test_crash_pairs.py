"""Two coordinators of a job in a row are killed, at every pair of steps."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

#: More than the fsyncs of an undisturbed run.
STEPS = 28


@pytest.mark.soak
@pytest.mark.parametrize("lost", ["keep", "lose"])
@pytest.mark.parametrize("first", range(1, STEPS + 1))
def test_crash_twice_at_every_pair_of_steps(tmp_path: Path, first: int, lost: str) -> None:
    """SIGKILL of the first coordinator at a step, and of the second one at each of its own, with and without
    a file that is lost between them: the third one's answer is right, and exactly the tasks run that have no
    record, or whose file is gone and still needed."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.engine.durable.crash_pairs", str(tmp_path), str(first), lost],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=False,
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr
    crashes, more = map(int, done.stdout.split())
    assert more > 0
    assert not (crashes and first == STEPS), "a run has more steps"
