"""The configuration of a new connection, from all sources.

If several sources give an option, the first of these counts: the arguments, the URL, the environment, the
named connection of ``sqlfront.toml``, the defaults of :class:`~sqlfront.config.Config`. If a URL, a named
connection or an argument says where the connection goes (which cluster, launcher or Spark session), the
environment changes neither that nor the credentials.
"""

import os
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

import msgspec
from msgspec.structs import asdict, replace

from sqlfront.config import Config, Launcher
from sqlfront.configuration.file import default_path, load
from sqlfront.configuration.options import OPTIONS, OptionScope, did_you_mean
from sqlfront.configuration.redaction import without_secrets
from sqlfront.configuration.urls import not_an_address, parse_url
from sqlfront_values.errors import ProgrammingError

#: The variable with the URL or name that is used without an argument.
CONNECTION_VARIABLE: Final = "SQLFRONT_CONNECTION"
#: Options whose variables are read when a cluster is joined (:mod:`sqlfront.cluster.credentials`), and only
#: then.
_READ_LATER: Final = frozenset(["secret", "credentials"])
_OPENERS: Final = frozenset(option.name for option in OPTIONS if option.scope is OptionScope.CLUSTER) - {
    "cluster"
}
_PLACES: Final = frozenset(["cluster", "members", "launcher", "spark"])
_VARIABLES: Final = (
    CONNECTION_VARIABLE,
    *(option.variable for option in OPTIONS if option.name not in _READ_LATER),
)
#: The beginnings of a cluster's address.
_ADDRESS: Final = ("sqlfront://", "sqlfront+cluster://")


class Resolved(msgspec.Struct, frozen=True):
    """The settings of a new connection: the session's ``config``, and the address of the Spark session to use
    beside it (``spark``), None = none."""

    config: Config
    spark: str | None = None


def resolve(
    target: str | None,
    given: Mapping[str, object],
    config: Config | None = None,
    environment: Mapping[str, str] | None = None,
) -> Resolved:
    """Return the settings of a new connection. ``target``: a URL, or the name of a connection in
    ``sqlfront.toml``; None = the target in the variable SQLFRONT_CONNECTION, if set. ``given``: the caller's
    arguments, by the names of options or of Config's fields. ``config``: a configuration whose fields count
    as arguments where they differ from the defaults; with it, the environment is not read.

    ``environment`` is ``os.environ`` unless given. Raises ProgrammingError for settings that are malformed or
    don't fit together and for a malformed ``sqlfront.toml``, OperationalError if that file can't be read.
    """
    read = {} if config is not None else os.environ if environment is None else environment
    own = _expanded(given)
    if target is None and not own.keys() & _PLACES:
        target = read.get(CONNECTION_VARIABLE) or None
    from_url, from_file = _of_target(target)
    strong = {**from_url, **_changed(config), **own}
    surroundings = _of_environment(read, {**from_file, **strong}, placed=target is not None)
    return _resolved({**from_file, **surroundings, **strong}, config or Config())


def speaks(environment: Mapping[str, str]) -> bool:
    """Return whether the environment has any of the variables that set options of connections.

    >>> speaks({"HOME": "/home/ada", "SQLFRONT_TIMEOUT": "5"})
    True
    """
    return any(name in environment for name in _VARIABLES)


def _of_target(target: str | None) -> tuple[dict[str, object], dict[str, object]]:
    """Return the options that the target gives as a URL, and those that it gives as the name of a connection
    in ``sqlfront.toml``; one of the two is empty, both for None."""
    if target is None:
        return {}, {}
    if ":" in target:
        return _of_url(target), {}
    return {}, _of_name(target)


def _of_url(url: str) -> dict[str, object]:
    parsed = parse_url(url)
    return dict(parsed.options) if parsed.cluster is None else {**parsed.options, "cluster": parsed.cluster}


def _of_name(name: str) -> dict[str, object]:
    """Return the options of the connection ``name`` in ``sqlfront.toml``. Raises ProgrammingError for an
    unknown name, and for an option given both in the connection's URL and as a key."""
    file = load()
    connection = file.connections.get(name)
    if connection is None:
        where = f"in {file.path}" if file.path else f"and no file {default_path()}"
        known = did_you_mean(name, sorted(file.connections)) if file.connections else "no connection is known"
        hint = "The name of a connection has no colon; a URL begins with sqlfront:"
        if os.path.isdir(name):
            hint = (
                "The folder of a cluster is given as cluster=... (--cluster), a warehouse as sqlfront:FOLDER"
            )
        raise ProgrammingError(
            f"there is no connection {without_secrets(name)[:80]!r} {where}; {known}. {hint}"
        )
    options = _expanded(connection.options)
    if connection.url is None:
        return options
    from_url = _of_url(connection.url)
    if twice := sorted(from_url.keys() & options.keys()):
        raise ProgrammingError(
            f"connections.{name} in {file.path} gives {', '.join(twice)} twice: in its url, and as a key"
        )
    return {**from_url, **options}


def _expanded(options: Mapping[str, object]) -> dict[str, object]:
    """Return the options, with those added that the address in the option ``cluster`` gives, such as a
    secret. The address may also be the path of the cluster's folder. Raises ProgrammingError for a malformed
    address."""
    address = options.get("cluster")
    if not isinstance(address, str):
        return dict(options)
    if not address.startswith(_ADDRESS):
        if not os.path.isdir(address):
            raise not_an_address(address)
        address = f"{_ADDRESS[0]}{quote(os.path.abspath(address))}"
    parsed = parse_url(f"sqlfront+cluster:{address.partition(':')[2]}")
    return {**parsed.options, **options, "cluster": parsed.cluster}


def _changed(config: Config | None) -> dict[str, object]:
    """Return the fields of ``config`` that differ from the defaults, as options; empty for None."""
    if config is None:
        return {}
    usual = asdict(Config())
    return _expanded({name: value for name, value in asdict(config).items() if value != usual[name]})


def _of_environment(
    environment: Mapping[str, str], named: Mapping[str, object], *, placed: bool
) -> dict[str, object]:
    """Return the options that the environment gives to a connection. ``named``: the options of all other
    sources. ``placed``: whether the caller gives a URL, or the name of a connection in ``sqlfront.toml``. If
    another source says where the connection goes, the environment's options of :data:`_PLACES` are omitted;
    so are those of :func:`_left_out`. Raises ProgrammingError for a malformed value."""
    placed = placed or bool(named.keys() & _PLACES)
    taken: dict[str, object] = {}
    for option in OPTIONS:
        text = environment.get(option.variable)
        if text and option.name not in _READ_LATER and not (placed and option.name in _PLACES):
            taken[option.name] = option.parsed(text, option.variable)
    both = {**_expanded(taken), **named}
    left_out = _left_out(both, opened=bool(named.keys() & _OPENERS))
    return {name: value for name, value in _expanded(taken).items() if name not in left_out}


def _left_out(options: Mapping[str, object], *, opened: bool) -> frozenset[str]:
    """Return the names of the options that are not taken from the environment. These are options of a
    session's own members if the session joins a cluster; and credentials if another source gives credentials,
    or if the session has no members in other processes. ``options``: the options of all sources. ``opened``:
    whether another source than the environment gives credentials."""
    joins = "cluster" in options or "credentials" in options
    own = frozenset(option.name for option in OPTIONS if option.scope is OptionScope.OWN)
    apart = options.get("launcher", Launcher.EMBEDDED.value) not in (
        Launcher.EMBEDDED,
        Launcher.EMBEDDED.value,
    )
    return (own if joins else frozenset()) | (_OPENERS if opened or not (joins or apart) else frozenset())


def _resolved(options: Mapping[str, object], config: Config) -> Resolved:
    changes = dict(options)
    spark = changes.pop("spark", None)
    if "credentials" in changes and "cluster" not in changes:
        changes["cluster"] = _ADDRESS[0]
    if isinstance(launcher := changes.get("launcher"), str):
        changes["launcher"] = Launcher(launcher)
    return Resolved(replace(config, **changes), spark if isinstance(spark, str) else None)
