r"""Commands that run statements: scripts, repetition, the editor, programs."""

import math
import os
import shlex
import subprocess
import tempfile
import time
from pathlib import Path

from sqlfront.shell.interactive.display.screen import Paint
from sqlfront.shell.interactive.display.visible import visible
from sqlfront.shell.interactive.shell import Shell
from sqlfront.shell.interactive.statements import run_statement
from sqlfront_values.errors import OperationalError, ProgrammingError

#: Seconds between two repetitions, unless the user gives another number.
_WATCH: float = 2.0


def explain(shell: Shell, argument: str) -> None:
    r"""``\explain``: show the plan of the last statement; ``\explain analyze`` also runs the statement, and
    shows rows and times of each step; ``\explain extended`` also shows the logical plans."""
    if argument.lower() not in ("", "analyze", "extended"):
        raise ProgrammingError(rf"\explain takes analyze or extended, not {argument}")
    last = _last(shell)
    run_statement(shell, f"EXPLAIN {argument} {last}" if argument else f"EXPLAIN {last}")
    shell.last = last


def _last(shell: Shell) -> str:
    if not shell.last:
        raise ProgrammingError("there is no last statement yet")
    return shell.last


def watch(shell: Shell, argument: str) -> None:
    r"""``\watch``: repeat the last statement until Ctrl-C or an error, with a pause between two runs of as
    many seconds as ``argument`` says (2 without an argument)."""
    text, seconds = _last(shell), _seconds(argument)
    while run_statement(shell, text):
        time.sleep(seconds)
        shell.screen.say(time.strftime("-- %H:%M:%S"), Paint.FAINT)


def _seconds(argument: str) -> float:
    try:
        seconds = float(argument) if argument else _WATCH
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < math.inf:
        raise ProgrammingError(rf"\watch takes a positive number of seconds, not {argument}")
    return seconds


def edit(shell: Shell, argument: str) -> None:
    r"""``\e``: open the last statement, or the file ``argument``, in the editor ($VISUAL, else $EDITOR, else
    vi); the next prompt begins with the edited text. Raises OperationalError if the editor fails."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    if argument:
        path = Path(argument).expanduser()
        _edit(editor, path)
        shell.draft = read_text(path)
        return
    with tempfile.TemporaryDirectory(prefix="sqlfront-") as folder:
        path = Path(folder) / "statement.sql"
        path.write_text(shell.last and f"{shell.last};\n", encoding="utf-8")
        _edit(editor, path)
        shell.draft = read_text(path)


def _edit(editor: str, path: Path) -> None:
    try:
        code = subprocess.run([*shlex.split(editor), str(path)], check=False).returncode
    except OSError as error:
        raise OperationalError(f"can't start the editor {editor}: {error.strerror}") from error
    if code:
        raise OperationalError(f"the editor {editor} ended with exit code {code}")


def read_text(path: Path) -> str:
    """Return the text of the file at ``path`` without blanks at its end. Raises OperationalError if the file
    can't be read or is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8-sig").rstrip()
    except UnicodeDecodeError as error:
        raise OperationalError(f"{path} is not UTF-8 text") from error
    except OSError as error:
        raise OperationalError(f"can't read {path}: {error.strerror}") from error


def system(shell: Shell, argument: str) -> None:
    r"""``\!``: run ``argument`` in the system's shell, or without an argument start an interactive system
    shell. An exit code other than 0 is shown."""
    code = subprocess.run(argument or os.environ.get("SHELL", "sh"), shell=True, check=False).returncode
    if code:
        shell.screen.say(visible(f"exit code {code}"), Paint.ERROR)


def leave(shell: Shell, argument: str) -> None:
    r"""``\q``: leave the shell."""
    shell.left = True
