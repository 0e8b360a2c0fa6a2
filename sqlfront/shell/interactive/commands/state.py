r"""Commands that change how answers are shown, and the variables."""

from difflib import get_close_matches
from functools import partial
from pathlib import Path

from sqlfront.shell.interactive.display.visible import visible
from sqlfront.shell.interactive.shell import Expanded, Shell
from sqlfront.shell.interactive.worker import Worker
from sqlfront.shell.output.formats import FORMATS
from sqlfront.shell.variables import variable
from sqlfront_values.errors import ProgrammingError


def expand(shell: Shell, argument: str) -> None:
    r"""``\x``: switch vertical output to ``argument`` (``on``, ``off`` or ``auto``: where a table would not
    fit the screen); without an argument, turn it on if it is off, else off."""
    known = {mode.value: mode for mode in Expanded}
    if argument and argument not in known:
        raise ProgrammingError(rf"\x takes on, off or auto, not {argument}")
    switched = Expanded.ON if shell.expanded is Expanded.OFF else Expanded.OFF
    shell.expanded = known[argument] if argument else switched
    shell.screen.say(f"vertical output is {shell.expanded.value}")


def timing(shell: Shell, argument: str) -> None:
    r"""``\timing``: show the time of a statement in its footer (``on``) or not (``off``); without an
    argument, change from one to the other."""
    if argument not in ("", "on", "off"):
        raise ProgrammingError(rf"\timing takes on or off, not {argument}")
    shell.timing = argument == "on" if argument else not shell.timing
    shell.screen.say(f"the footer has {'the' if shell.timing else 'no'} time")


def choose_format(shell: Shell, argument: str) -> None:
    r"""``\format``: choose the output format ``argument``, then show the name of the current format."""
    if argument:
        shell.format = known_format(argument)
    shell.screen.say(f"format {shell.format}")


def known_format(name: str) -> str:
    """Return ``name`` if an output format has this name. Raises ProgrammingError, which suggests the nearest
    format's name, if no format has it."""
    if name in FORMATS:
        return name
    near = get_close_matches(name, FORMATS, 1)
    hint = f"; the nearest known is {near[0]}" if near else ""
    raise ProgrammingError(f"no format is called {name}{hint}; known: {', '.join(FORMATS)}")


def redirect(shell: Shell, argument: str) -> None:
    r"""``\o``: send later results to the file ``argument``; without an argument, to the screen again."""
    shell.send_to(Path(argument).expanduser() if argument else None)
    shell.screen.say(f"results go to {visible(argument)}" if argument else "results go to the screen")


def set_variable(shell: Shell, argument: str) -> None:
    r"""``\set``: give a variable its value; without a value, remove the variable; without a name, list all
    variables with their texts."""
    if not argument:
        for name, known in sorted(shell.variables.items()):
            shell.screen.say(f"{name} = {visible(known.text)}")
        return
    name, _, text = argument.partition(" ")
    if not name.isidentifier():
        raise ProgrammingError(f"{name!r} is not a variable's name: letters, digits and underscores")
    text = text.strip()
    if not text:
        shell.variables.pop(name, None)
        return
    with Worker() as worker:
        shell.variables[name] = worker.call(partial(variable, text, shell.session))
