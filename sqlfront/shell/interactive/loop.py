"""The loop of the shell: read a text, run its statements and commands, until the user leaves."""

import os
import signal
import sys
import threading
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from sqlfront.configuration import load
from sqlfront.session import Session
from sqlfront.shell.interactive.commands.registry import COMMANDS, run_text
from sqlfront.shell.interactive.commands.state import known_format
from sqlfront.shell.interactive.display.screen import Paint, Screen
from sqlfront.shell.interactive.prompt.base import PROMPT, Prompt
from sqlfront.shell.interactive.prompt.ending_signals import EndingSignals, HangUp
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
    """Run the interactive shell until the user leaves. ``format_name``: the format of results, None = the
    format in the user's ``sqlfront.toml``, else ``table``.

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
        with Shell(session, screen, options, format_name) as shell, EndingSignals() as signals:
            with signals.held():
                prompt = _prompt(shell, signals)
            _talk(shell, prompt)
    except HangUp as ended:
        return 128 + ended.number
    except OSError:  # the terminal is gone
        return 128 + signal.SIGHUP
    return 0


def _prompt(shell: Shell, signals: EndingSignals) -> Prompt:
    """Return the prompt with the editor. If a package of the extra ``shell`` is missing, show a line that
    says what to install, and return a plain prompt."""
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
    kept = history.history_path(os.environ)
    return toolkit.ToolkitPrompt(shell.options, shell.screen, names, kept, signals)


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
