"""The loop of the shell: read a text, run its statements and commands, until the user leaves."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from types import FrameType
from typing import TYPE_CHECKING, Final

from sqlfront.configuration import load
from sqlfront.session import Session
from sqlfront.shell.interactive.commands.registry import COMMANDS, run_text
from sqlfront.shell.interactive.commands.state import known_format
from sqlfront.shell.interactive.display.screen import Paint, Screen
from sqlfront.shell.interactive.prompt.base import PROMPT, HangUp, Prompt
from sqlfront.shell.interactive.prompt.plain import PlainPrompt
from sqlfront.shell.interactive.shell import Shell
from sqlfront.shell.interactive.text.command_lines import is_farewell
from sqlfront_values.errors import Error
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    from sqlfront.shell.interactive.completion import candidates
    from sqlfront.shell.interactive.prompt import history, toolkit
else:
    candidates = lazy_module("sqlfront.shell.interactive.completion.candidates")
    history = lazy_module("sqlfront.shell.interactive.prompt.history")
    toolkit = lazy_module("sqlfront.shell.interactive.prompt.toolkit")

#: The packages of the extra ``shell``.
_EXTRA: Final = ("prompt_toolkit", "pygments", "wcwidth")


def run(session: Session, format_name: str | None = None) -> int:
    """Talk to the user at the terminal until the user leaves. ``format_name``: the format of results, None =
    that of the user's ``sqlfront.toml``, or tables.

    Return the process's exit code: 0; 2 if ``sqlfront.toml`` can't be read; 128 and the number of the signal
    that ended the shell.
    """
    screen = Screen.of(sys.stdout, os.environ)
    try:
        options = load().shell
        format_name = known_format(format_name or options.format or "table")
    except Error as error:
        print(f"sqlfront: {error}", file=sys.stderr)
        return 2
    try:
        with Shell(session, screen, options, format_name) as shell, ending_signals():
            _talk(shell, _prompt(shell))
    except HangUp as ended:
        return 128 + ended.number
    except OSError:  # the terminal is gone
        return 128 + signal.SIGHUP
    return 0


def _prompt(shell: Shell) -> Prompt:
    """The editor, or without the extra ``shell`` a plain prompt and a line that says what to install."""
    missing = [name for name in _EXTRA if find_spec(name) is None]
    if missing:
        shell.screen.say(
            f"{', '.join(missing)} not installed: no completion, colours or history; "
            "pip install 'sqlfront[shell]' brings them"
        )
        return PlainPrompt(shell.options.prompt or PROMPT)
    commands = {name: command.help for name, command in COMMANDS.items()}
    names = candidates.Candidates(shell.session, commands)
    threading.Thread(target=names.warm, name="sqlfront-completion", daemon=True).start()
    return toolkit.ToolkitPrompt(shell.options, shell.screen, names, history.history_path(os.environ))


def _talk(shell: Shell, prompt: Prompt) -> None:
    shell.screen.say(r"\? shows the commands, Ctrl-D leaves", Paint.FAINT)
    while not shell.left:
        draft, shell.draft = shell.draft, ""
        try:
            text = prompt.read(draft)
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        if is_farewell(text):
            return
        try:
            run_text(shell, text)
        except KeyboardInterrupt:
            shell.screen.say("")


@contextmanager
def ending_signals() -> Iterator[None]:
    """A context in which SIGTERM and SIGHUP raise HangUp in the main thread, so that the terminal is restored
    and the session closed. An editor that swallows exceptions of signal handlers is asked to end instead."""

    def end(number: int, frame: FrameType | None) -> None:
        # There is no editor to end before the module is loaded whole.
        end_editor = getattr(toolkit, "end_editor", None) if "prompt_toolkit" in sys.modules else None
        if end_editor is None or not end_editor(HangUp(number)):
            raise HangUp(number)

    former = {number: signal.signal(number, end) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
