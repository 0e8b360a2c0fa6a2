"""A sample of ``python -m tests.fuzz.early_signals``."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.early_signals import check

#: Ctrl-C and SIGTERM in a statement that takes hours, and SIGHUP while the command loads.
SEEDS = (7, 13, 9)


@pytest.mark.parametrize("seed", SEEDS)
def test_signals_at_random_moments_end_the_command_quietly(seed: int, tmp_path: Path) -> None:
    check(seed, tmp_path)


def test_ctrl_c_is_quiet_before_anything_is_loaded() -> None:
    program = "import os, signal, sqlfront_command; os.kill(os.getpid(), signal.SIGINT)"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)

    assert (ended.returncode, ended.stdout, ended.stderr) == (130, b"", b"")
