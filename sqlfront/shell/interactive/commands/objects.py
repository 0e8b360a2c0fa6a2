r"""Commands that list objects of the session: ``\d``, ``\dt``, ``\dv``, ``\df``, ``\di``, ``\l``,
``\conninfo``."""

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
    r"""``\d``: list all tables and views, or describe the columns of the table or view that ``argument``
    names."""
    if argument:
        _run(shell, f"DESCRIBE TABLE EXTENDED {argument}")
    else:
        _run(shell, "SHOW TABLES")


def tables(shell: Shell, argument: str) -> None:
    r"""``\dt``: list the tables whose names match the pattern ``argument``, in which ``*`` and ``?`` are
    wildcards; with an empty ``argument``, all tables."""
    _relations(shell, argument, "table")


def views(shell: Shell, argument: str) -> None:
    r"""``\dv``: list the views whose names match the pattern ``argument``, in which ``*`` and ``?`` are
    wildcards; with an empty ``argument``, all views."""
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
    r"""``\df``: list the functions whose names match the pattern ``argument``, in which ``*`` and ``?`` are
    wildcards; with an empty ``argument``, all functions. Each has its signature and help."""
    found = [function for function in known_functions(shell.session) if matches(function.name, argument)]
    rows = [(_signature(function), function.help) for function in found]
    _list(shell, rows, f"no function matches {argument}")


def _signature(function: FunctionHelp) -> str:
    return function.signature or function.name


def indexes(shell: Shell, argument: str) -> None:
    r"""``\di``: list the indexes of the tables whose names match the pattern ``argument``, in which ``*`` and
    ``?`` are wildcards; with an empty ``argument``, of all tables."""
    rows = [
        (f"{entry.name}.{name}", columns)
        for entry in shell.session.context.catalog.entries()
        if matches(entry.name, argument)
        for name, columns, _ in indexes_of(entry)
    ]
    _list(shell, rows, "no index")


def databases(shell: Shell, argument: str) -> None:
    r"""``\l``: list the databases, or the databases whose names match the pattern ``argument``; beside Spark,
    they are Spark's databases."""
    if shell.session.spark is not None:
        _run(shell, f"SHOW DATABASES LIKE '{argument}'" if argument else "SHOW DATABASES")
        return
    known = {DEFAULT_DATABASE: "tables and views", **COMMENTS}
    rows = [(name, text) for name, text in known.items() if matches(name, argument)]
    _list(shell, rows, f"no database matches {argument}")


def connection(shell: Shell, argument: str) -> None:
    r"""``\conninfo``: show the session's members, Spark session, time zone and memory limit, without
    secrets."""
    for line in connection_lines(shell.session):
        shell.screen.say(line)


def connection_lines(session: Session) -> list[str]:
    """Return the lines that describe a session's members, Spark session, time zone and memory limit, without
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
    """Return whether ``name`` matches ``pattern``, in which ``*`` stands for any characters and ``?`` for
    one; a pattern without either matches the beginning of a name. Case doesn't matter.

    >>> matches("Flights", "fl"), matches("flights", "*s"), matches("flights", "x*")
    (True, True, False)
    """
    wild = pattern if set("*?") & set(pattern) else f"{pattern}*"
    return re.fullmatch(translate(wild), name, re.IGNORECASE) is not None


def _run(shell: Shell, text: str) -> None:
    r"""Run a statement that a command made, and show its rows. The user's last statement stays the last
    statement, which ``\watch`` and ``\explain`` take."""
    last = shell.last
    try:
        run_statement(shell, text)
    finally:
        shell.last = last


def _list(shell: Shell, rows: list[tuple[str, str]], nothing: str) -> None:
    """Show the rows as two columns, cut to the width of the screen; without rows, show the message
    ``nothing``."""
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
