"""Parsing of a call of ``%sql``: options, the name of a variable for the result, and the statements."""

import re
from typing import Final

import msgspec

from sqlfront_values.errors import ProgrammingError

_OPTION: Final = re.compile(r"\s*--([\w-]*)(?:[ \t=]+(\"[^\"]*\"|'[^']*'|[^\s-]\S*))?[ \t]*")
_ASSIGNED: Final = re.compile(r"\s*([^\W\d]\w*)\s*<<")
_KNOWN: Final = ("--connect", "--close")

#: The help that ``%sql`` without a statement shows.
USAGE: Final = """\
%sql STATEMENT              run a statement
%sql name << STATEMENT      run a statement, and assign its result to the variable `name`
%%sql [name <<]             the same for the rest of the cell, of one or several statements
%sql --connect TARGET       run statements on a URL, a name of sqlfront.toml, or a connection in a variable
%sql --connect              run statements in the session of sqlfront.sql again
%sql --close                close the connection that --connect has opened
In a statement `:name` is a variable of the notebook as a value, `{name}` a variable that holds a frame."""


class MagicCall(msgspec.Struct, frozen=True):
    """The parts of a call of ``%sql``. ``connect``: the argument of ``--connect``, empty if the option has no
    argument, None without the option. ``close``: whether ``--close`` is given. ``variable``: the name of the
    variable for the result, None = no variable. ``text``: the statements."""

    connect: str | None = None
    close: bool = False
    variable: str | None = None
    text: str = ""


def read_call(line: str, cell: str | None = None) -> MagicCall:
    """Parse a call of the magic: ``line`` is the text behind the magic's name; ``cell`` is the text below,
    None for a line magic. Raises ProgrammingError for an unknown option.

    >>> read_call("--connect here x << select 1")
    MagicCall(connect='here', close=False, variable='x', text='select 1')
    """
    connect, close, rest = None, False, line
    # A comment of SQL begins with two dashes as well, and a blank.
    while (option := _OPTION.match(rest)) is not None and option[1]:
        if option[1] == "connect":
            connect = (option[2] or "").strip("\"'")
            rest = rest[option.end() :]
        elif option[1] == "close":
            close, rest = True, rest[option.end(1) :]
        else:
            raise ProgrammingError(f"%sql has no option --{option[1]}; there are {', '.join(_KNOWN)}")
    assigned = _ASSIGNED.match(rest)
    variable = None if assigned is None else assigned[1]
    if assigned is not None:
        rest = rest[assigned.end() :]
    text = rest if cell is None else f"{rest}\n{cell}"
    return MagicCall(connect, close, variable, text.strip())
