r"""Commands that show what there is: ``\d``, ``\dt``, ``\dv``, ``\df``, ``\di``, ``\l``, ``\conninfo``."""

import os
import re
from fnmatch import translate

from sqlfront.commands.indexes import indexes_of
from sqlfront.configuration.redaction import without_secrets
from sqlfront.information_schema.schemas import COMMENTS
from sqlfront.session import Session
from sqlfront.shell.interactive.completion.functions import FunctionHelp, known_functions
from sqlfront.shell.interactive.completion.names import SessionNames
from sqlfront.shell.interactive.display.pager import PagedOutput, pager_command
from sqlfront.shell.interactive.display.visible import cells_of, cut, padded, visible
from sqlfront.shell.interactive.shell import Shell
from sqlfront.shell.interactive.statements import run_statement
from sqlfront_planner.catalog import DEFAULT_DATABASE


def describe(shell: Shell, argument: str) -> None:
    r"""``\d``: all tables and views, or the columns of one."""
    if argument:
        _run(shell, f"DESCRIBE TABLE EXTENDED {argument}")
    else:
        _run(shell, "SHOW TABLES")


def tables(shell: Shell, argument: str) -> None:
    r"""``\dt``: the tables that match a pattern."""
    _relations(shell, argument, "table")


def views(shell: Shell, argument: str) -> None:
    r"""``\dv``: the views that match a pattern."""
    _relations(shell, argument, "view")


def _relations(shell: Shell, argument: str, kind: str) -> None:
    names = SessionNames(shell.session)
    rows = [
        (relation.name, f"{relation.kind}: {relation.comment}" if relation.comment else relation.kind)
        for relation in names.relations()
        if kind in relation.kind and matches(relation.name, argument)
    ]
    _list(shell, rows, f"no {kind}" + (f" matches {argument}" if argument else "s"))


def functions(shell: Shell, argument: str) -> None:
    r"""``\df``: the functions that match a pattern, with signature and help."""
    found = [function for function in known_functions(shell.session) if matches(function.name, argument)]
    rows = [(_signature(function), function.help) for function in found]
    _list(shell, rows, f"no function matches {argument}")


def _signature(function: FunctionHelp) -> str:
    return function.signature or function.name


def indexes(shell: Shell, argument: str) -> None:
    r"""``\di``: the indexes of all tables, or of the tables that match a pattern."""
    rows = [
        (f"{entry.name}.{name}", columns)
        for entry in shell.session.context.catalog.entries()
        if matches(entry.name, argument)
        for name, columns, _ in indexes_of(entry)
    ]
    _list(shell, rows, "no index")


def databases(shell: Shell, argument: str) -> None:
    r"""``\l``: the databases."""
    if shell.session.spark is not None:
        _run(shell, f"SHOW DATABASES LIKE '{argument}'" if argument else "SHOW DATABASES")
        return
    known = {DEFAULT_DATABASE: "tables and views", **COMMENTS}
    rows = [(name, text) for name, text in known.items() if matches(name, argument)]
    _list(shell, rows, f"no database matches {argument}")


def connection(shell: Shell, argument: str) -> None:
    r"""``\conninfo``: the session's place, without its secrets."""
    for line in connection_lines(shell.session):
        shell.screen.say(line)


def connection_lines(session: Session) -> list[str]:
    """The members, the Spark session, the time zone and the memory of a session, in words and without
    secrets."""
    config, cluster = session.config, session.cluster
    lines = []
    if cluster is None:
        lines.append(f"members: this process, {session.engine.workers} workers")
    else:
        count = sum(not member.lite for member in cluster.member_list.members)
        where = (
            f"cluster {without_secrets(config.cluster)}"
            if config.cluster
            else f"launcher {config.launcher.value}"
        )
        lines.append(f"members: {count}, {where}")
    lines.append(f"spark: {_spark(session)}")
    zone, limit = session.settings.time_zone, session.context.memory
    return [*map(visible, lines), f"time zone: {zone}", f"memory limit: {limit / 2**30:,.1f} GiB"]


def _spark(session: Session) -> str:
    if session.spark is None:
        return "none"
    return "started" if session.spark.is_started else "starts with the first statement that needs it"


def matches(name: str, pattern: str) -> bool:
    """Whether a name matches a pattern in which ``*`` and ``?`` stand for letters; a pattern without either
    matches the beginning of a name. Case doesn't matter.

    >>> matches("Flights", "fl"), matches("flights", "*s"), matches("flights", "x*")
    (True, True, False)
    """
    wild = pattern if set("*?") & set(pattern) else f"{pattern}*"
    return re.fullmatch(translate(wild), name, re.IGNORECASE) is not None


def _run(shell: Shell, text: str) -> None:
    """Run a statement that is not the user's, so that it is no last statement."""
    last = shell.last
    try:
        run_statement(shell, text)
    finally:
        shell.last = last


def _list(shell: Shell, rows: list[tuple[str, str]], nothing: str) -> None:
    """Show rows of two texts, the second cut to the screen."""
    if not rows:
        shell.screen.say(visible(nothing))
        return
    shown = [(visible(name), visible(text)) for name, text in rows]
    width = shell.screen.size.columns
    size = min(max(cells_of(name) for name, _ in shown), max(width // 2, 20))
    lines = [
        f" {padded(cut(name, size), size)}  {cut(text, max(width - size - 3, 10))}".rstrip()
        for name, text in shown
    ]
    with PagedOutput(shell.screen, pager_command(shell.options.pager, os.environ)) as output:
        output.write(lines)
