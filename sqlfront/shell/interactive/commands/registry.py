r"""All commands by name, and the run of a text of statements and commands."""

from difflib import get_close_matches
from pathlib import Path
from typing import Final

from sqlfront.shell.interactive.commands import objects, running, state
from sqlfront.shell.interactive.commands.command import Command
from sqlfront.shell.interactive.display.failures import failure_lines
from sqlfront.shell.interactive.shell import Shell
from sqlfront.shell.interactive.statements import run_statement
from sqlfront.shell.interactive.text.command_lines import parts_of
from sqlfront.shell.interactive.text.statements import typed_pieces
from sqlfront_values import evaluation_errors
from sqlfront_values.errors import Error, ProgrammingError


def run_text(shell: Shell, text: str, script: Path | None = None) -> bool:
    """Run the statements and commands of a text in order, up to the first that fails; show rows and errors.
    ``script``: the file of the text, which messages name; None = the text was typed at the prompt. Return
    whether all succeeded."""
    for piece in typed_pieces(text):
        line = text.count("\n", 0, piece.start) + 1
        place = "" if script is None else f"{script}:{line}"
        run = _run_command if piece.is_command else run_statement
        if not run(shell, piece.text, place):
            return False
        if shell.left:
            break
    return True


def _run_command(shell: Shell, line: str, place: str) -> bool:
    """Run a command, and show its error if it fails; ``place`` is the file and line that the error names,
    empty at the prompt. Return whether the command succeeded."""
    name, argument = parts_of(line)
    try:
        _command(name).action(shell, argument)
    except _ScriptFailedError:
        return False
    except Exception as error:  # noqa: BLE001 - a fault costs the user a command, not the session
        known = error if isinstance(error, Error) else evaluation_errors.foreign_error(error)
        for text in failure_lines(known, shell.screen, place):
            shell.screen.say(text)
        return False
    return True


def _command(name: str) -> Command:
    """Return the command called ``name``. If there is none, raise ProgrammingError, which names the nearest
    command."""
    if name not in COMMANDS:
        near = get_close_matches(name, COMMANDS, 1) or get_close_matches(name.lower(), COMMANDS, 1, 0.3)
        hint = f", the nearest known is \\{near[0]}" if near else ""
        raise ProgrammingError(rf"no command is called \{name}{hint}; \? lists all")
    return COMMANDS[name]


class _ScriptFailedError(ProgrammingError):
    """The failure of a script that another script includes. The error that ended the script was shown
    already, so that this error is not shown."""


def _include(shell: Shell, argument: str) -> None:
    r"""``\i``: run the statements and commands of a file. Inside a script, the file's name is relative to the
    script's folder."""
    if not argument:
        raise ProgrammingError(r"\i takes the name of a file")
    folder = shell.scripts[-1].parent if shell.scripts else Path()
    path = folder / Path(argument).expanduser()
    if path.resolve() in (script.resolve() for script in shell.scripts):
        raise ProgrammingError(f"{path} is running already: a script can't run itself")
    text = running.read_text(path)
    shell.scripts = (*shell.scripts, path)
    try:
        succeeded = run_text(shell, text, path)
    finally:
        shell.scripts = shell.scripts[:-1]
    if not succeeded:
        raise _ScriptFailedError(f"{path} failed")


def _help(shell: Shell, argument: str) -> None:
    r"""``\?``: the commands, with their help."""
    size = max(len(command.usage) for command in COMMANDS.values())
    for command in COMMANDS.values():
        shell.screen.say(f"  {command.usage:{size}}  {command.help}")
    shell.screen.say(
        "Statements end with a semicolon. Ctrl-C cancels, Ctrl-R searches the history, Ctrl-D leaves."
    )


#: The commands by their names, in the order of the help.
COMMANDS: Final = {
    command.name: command
    for command in (
        Command("d", "[NAME]", "list tables and views, or describe one", objects.describe),
        Command("dt", "[PATTERN]", "list tables", objects.tables),
        Command("dv", "[PATTERN]", "list views", objects.views),
        Command("df", "[PATTERN]", "list functions with their signatures", objects.functions),
        Command("di", "[PATTERN]", "list indexes", objects.indexes),
        Command("l", "[PATTERN]", "list databases", objects.databases),
        Command("x", "[on|off|auto]", "show rows vertically; auto: if a table would not fit", state.expand),
        Command("timing", "[on|off]", "show the time in the footer", state.timing),
        Command("format", "[NAME]", "choose the format of results", state.choose_format),
        Command("o", "[FILE]", "send results to a file; without a file: to the screen", state.redirect),
        Command("i", "FILE", "run the statements and commands of a file", _include),
        Command("e", "[FILE]", "edit the last statement, or a file, with $EDITOR", running.edit),
        Command("watch", "[SECONDS]", "repeat the last statement until Ctrl-C", running.watch),
        Command("explain", "[analyze]", "show the plan of the last statement", running.explain),
        Command("set", "[NAME [VALUE]]", "set a variable: parameter :name, text ${name}", state.set_variable),
        Command("conninfo", "", "show members, Spark and settings of the session", objects.connection),
        Command("!", "[COMMAND]", "run a command of the system", running.system),
        Command("?", "", "show this help", _help),
        Command("q", "", "leave", running.leave),
    )
}
