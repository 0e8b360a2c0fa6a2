"""Signals at random moments of the command's life, from its first instruction on.

    python -m tests.fuzz.early_signals --runs 100

The interactive shell, a statement, a statement that takes hours, and a statement with an output file are
started in turns, and get SIGINT, SIGTERM or SIGHUP after 0 to 1.5 seconds. Every run ends by itself, with the
exit code of the signal or of the command (a signal may come when the command has ended), without a traceback
and without a half file. The statement that takes hours has the exit code of the signal.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Final

from sqlfront.shell.exit_codes import ExitCode
from tests.sqlfront.shell.terminal import Terminal

_COMMANDS: Final = {
    "shell": (),
    "statement": ("-c", "select count(*) from range(1000000)"),
    "endless": ("-c", "select count(*) from range(3000000) a join range(3000000) b on a.id + b.id < 0"),
    "file": ("--format", "csv", "-o", "out", "-c", "select * from range(300000)"),
}
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LONGEST: Final = 1.5
#: As the installed script does.
_PROGRAM: Final = (sys.executable, "-c", "from sqlfront_command import main; main()")


def check(seed: int, folder: Path) -> str:
    """Run the command of a seed, and return how it ended. AssertionError if the end is wrong."""
    chance = random.Random(seed)
    kind, number = chance.choice(list(_COMMANDS)), chance.choice(_SIGNALS)
    delay = chance.uniform(0, chance.choice((0.2, 0.5, _LONGEST)))
    with Terminal(*_COMMANDS[kind], folder=folder, program=_PROGRAM) as terminal:
        end = time.monotonic() + delay
        while (rest := end - time.monotonic()) > 0:
            terminal.pump(rest)
        terminal.signal(number)
        if kind == "shell":  # which Ctrl-C keeps once the prompt is there
            terminal.send("\x04")
        code, text = terminal.ended(), terminal.text()
    what = f"seed {seed}: {kind}, {number.name} after {delay:.3f} s: exit code {code}\n{text}"
    if ("Traceback" in text or "Fatal Python error" in text) and "sqlfront" not in text:
        return "ended while the interpreter loaded its own modules"
    expected = {-number, 128 + number}
    if kind == "file":
        expected.add(ExitCode.TERMINATED)  # for SIGHUP, too
    assert code in expected or (code == 0 and kind != "endless"), what
    assert "Traceback" not in text, what
    assert "Exception ignored" not in text, what
    assert not [path for path in folder.iterdir() if ".part" in path.name], what
    return "finished" if code == 0 else "ended"


def main() -> None:
    """Run commands; print how they ended, or the first that ended wrongly."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4)))
    options = parser.parse_args()
    ends: Counter[str] = Counter()
    for seed in range(options.seed, options.seed + options.runs):
        with tempfile.TemporaryDirectory() as folder:
            ends[check(seed, Path(folder))] += 1
    print(f"{options.runs} runs from seed {options.seed}: {dict(ends)}")


if __name__ == "__main__":
    main()
