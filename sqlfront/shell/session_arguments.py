"""The session of the ``sqlfront`` command, from its arguments."""

import argparse

from sqlfront.api import open_session
from sqlfront.config import Launcher
from sqlfront.session import Session
from sqlfront_values.errors import ProgrammingError

#: Arguments that are options of a connection by the same name.
_OPTIONS = (
    "timeout",
    "time_zone",
    "members",
    "cluster",
    "credentials",
    "certificate",
    "key",
    "authority",
    "insecure",
    "spark",
    "job_store",
)


def add_connection(parser: argparse.ArgumentParser) -> None:
    """Add the positional argument and the option ``--connection``, which both name the connection."""
    about = "a URL such as sqlfront:///folder or sqlfront://host:port, or a connection of sqlfront.toml"
    parser.add_argument(
        "connection", nargs="?", metavar="NAME|URL", help=f"{about} (default: a session here)"
    )
    parser.add_argument(
        "--connection",
        dest="named_connection",
        metavar="NAME|URL",
        help="the same, for names that are commands as well",
    )


def session_of(options: argparse.Namespace) -> Session:
    """Open the session that the command's arguments ask for. Options that the arguments don't give come from
    the connection's URL, the environment or ``sqlfront.toml``. Raises the errors of :func:`sqlfront.connect`,
    and OSError if the file with the secret can't be read."""
    url, named = options.connection, options.named_connection
    if url is not None and named is not None:
        raise ProgrammingError("the connection is given twice: as an argument, and by --connection")
    given = {name: getattr(options, name) for name in _OPTIONS if getattr(options, name) not in (None, False)}
    if options.launcher is not None:
        given["launcher"] = Launcher(options.launcher)
    if options.secret_file is not None:
        with open(options.secret_file, encoding="utf-8") as file:
            given["secret"] = file.read().strip()
    target = named if url is None else url
    if target is not None and "cluster" in given:
        raise ProgrammingError("a connection and --cluster are both given; one of these says the place")
    return open_session(target, given, None)
