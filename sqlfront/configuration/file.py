"""``sqlfront.toml``: the options of the shell, and connections by name."""

import os
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Final

import msgspec

from sqlfront.configuration.options import OPTIONS, ConnectionOption, OptionValue, did_you_mean, option_named
from sqlfront_values.errors import OperationalError, ProgrammingError
from sqlfront_values.lazy_modules import lazy_module

tomllib = lazy_module("tomllib")

#: The variable with the path of the file.
FILE_VARIABLE: Final = "SQLFRONT_CONFIG"
#: Bytes of the largest file that is read.
_LARGEST: Final = 1 << 20
_CHARACTERS_SHOWN: Final = 40
_SECTIONS: Final = ("shell", "connections")
_CONNECTION_KEYS: Final = ("url", *(option.name for option in OPTIONS))


class KeyBindings(Enum):
    """The keys that edit a line in the shell."""

    EMACS = "emacs"
    """Keys as in bash."""
    VI = "vi"
    """Modes and keys of vi."""


class ShellOptions(msgspec.Struct, frozen=True):
    """The section ``[shell]`` of ``sqlfront.toml``; the shell chooses a value for an option that is None.
    ``format``: the name of the output format. ``pager``: the command that shows long results, empty = no
    pager. ``null``: the text for NULL. ``prompt``: the text before a statement. ``keys``: the keys that edit
    a line."""

    format: str | None = None
    pager: str | None = None
    null: str | None = None
    prompt: str | None = None
    keys: KeyBindings = KeyBindings.EMACS


class NamedConnection(msgspec.Struct, frozen=True):
    """A section ``[connections.NAME]``: a ``url``, and ``options`` by their names in
    :data:`~sqlfront.configuration.options.OPTIONS`. The URL and the values may hold secrets, so that the
    ``repr`` has names only."""

    url: str | None = None
    options: Mapping[str, OptionValue] = msgspec.field(default_factory=dict)

    def __repr__(self) -> str:
        names = [*(["url"] if self.url is not None else []), *self.options]
        return f"NamedConnection({', '.join(f'{name}=...' for name in names)})"


class FileConfig(msgspec.Struct, frozen=True):
    """The content of ``sqlfront.toml``. ``path``: the path of the file, None = there is no file."""

    shell: ShellOptions = ShellOptions()
    connections: Mapping[str, NamedConnection] = msgspec.field(default_factory=dict)
    path: Path | None = None


def load(path: str | os.PathLike[str] | None = None) -> FileConfig:
    """Read ``sqlfront.toml``. ``path``: the file, None = the file of :func:`default_path`. If that file is
    missing, the result has the defaults; a file named by ``path`` or by the variable SQLFRONT_CONFIG has to
    exist.

    Raises OperationalError if the file can't be read, and ProgrammingError for text that is not TOML, for
    unknown sections and keys, and for values of a wrong type; the message names file and key.
    """
    named = path is not None or bool(os.environ.get(FILE_VARIABLE))
    place = Path(path) if path is not None else default_path()
    if place is None:
        return FileConfig()
    content = _read(place, must_exist=named)
    return FileConfig() if content is None else _file_config(_tables(content, place), place)


def default_path() -> Path | None:
    """Return the path of the file: the value of the variable SQLFRONT_CONFIG, else ``sqlfront/sqlfront.toml``
    in the folder XDG_CONFIG_HOME, else in ``~/.config``; None if the user has no home folder. An empty
    variable counts as unset, and so does a relative XDG_CONFIG_HOME, as the XDG specification asks."""
    if given := os.environ.get(FILE_VARIABLE):
        return Path(os.path.expanduser(given))
    folder = os.environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(folder):
        folder = os.path.expanduser("~/.config")
    return Path(folder, "sqlfront", "sqlfront.toml") if os.path.isabs(folder) else None


def _read(path: Path, *, must_exist: bool) -> bytes | None:
    """Return the content of the file; None if the file is missing and need not exist. Raises OperationalError
    if the file can't be read, ProgrammingError for a file of more than 1 MiB."""
    try:
        with open(path, "rb") as file:
            content = file.read(_LARGEST + 1)
    except (FileNotFoundError, NotADirectoryError) as error:
        if not must_exist:
            return None
        raise _unreadable(path, error) from error
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    if len(content) > _LARGEST:
        raise ProgrammingError(f"{path} is larger than 1 MiB, which no configuration is")
    return content


def _unreadable(path: Path, error: Exception) -> OperationalError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return OperationalError(f"the configuration file {path} can't be read: {reason}")


def _tables(content: bytes, path: Path) -> dict[str, object]:
    """Parse the content as TOML. Raises ProgrammingError if it is no TOML in UTF-8; the message names
    ``path``."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ProgrammingError(f"{path}, line {line}: the file is not UTF-8") from error
    try:
        tables: dict[str, object] = tomllib.loads(text)
    except RecursionError:
        raise ProgrammingError(f"{path} is nested too deeply") from None
    except ValueError as error:  # also of integers with thousands of digits
        raise ProgrammingError(f"{path} is not TOML: {error}") from None
    return tables


def _file_config(tables: Mapping[str, object], path: Path) -> FileConfig:
    for name in tables:
        if name not in _SECTIONS:
            raise ProgrammingError(
                f"{path} has no section or key {_name(name)}; {did_you_mean(name, _SECTIONS)}"
            )
    shell = _table(tables.get("shell", {}), "shell", path)
    connections = _table(tables.get("connections", {}), "connections", path)
    named = {
        name: _connection(_table(value, f"connections.{_shown(name)}", path), name, path)
        for name, value in connections.items()
    }
    return FileConfig(_shell(shell, path), named, path)


def _table(value: object, place: str, path: Path) -> dict[str, object]:
    if not isinstance(value, dict):
        raise _wrong(place, "a section", value, path)
    return value


def _shell(table: Mapping[str, object], path: Path) -> ShellOptions:
    known = ShellOptions.__struct_fields__
    values: dict[str, str | KeyBindings] = {}
    for key, value in table.items():
        _check_key(key, known, "shell", path)
        if not isinstance(value, str):
            raise _wrong(f"shell.{key}", "a text", value, path)
        values[key] = _key_bindings(value, path) if key == "keys" else value
    return ShellOptions(**values)  # type: ignore[arg-type]


def _key_bindings(value: str, path: Path) -> KeyBindings:
    try:
        return KeyBindings(value.lower())
    except ValueError:
        raise ProgrammingError(
            f"shell.keys in {path} must be emacs or vi, not {_shown(repr(value))}"
        ) from None


def _connection(table: Mapping[str, object], name: str, path: Path) -> NamedConnection:
    section = f"connections.{_shown(name)}"
    if not name or ":" in name or "/" in name:
        raise ProgrammingError(f"{section} in {path}: the name of a connection has no colon and no slash")
    values: dict[str, OptionValue] = {}
    for key, value in table.items():
        _check_key(key, _CONNECTION_KEYS, section, path)
        option = option_named(key)
        if option is None:
            _check_url(value, section, path)
        else:
            values[key] = _value(option, value, section, path)
    url = table.get("url")
    if url is not None and "cluster" in values:
        raise ProgrammingError(f"{section} in {path} has a url and a cluster; one of these says the place")
    return NamedConnection(url if isinstance(url, str) else None, values)


def _value(option: ConnectionOption, value: object, section: str, path: Path) -> OptionValue:
    return option.accepted(value, f"{section}.{option.name} in {path}")


def _check_url(value: object, section: str, path: Path) -> None:
    if not isinstance(value, str):
        raise _wrong(f"{section}.url", "a text", value, path)
    if ":" not in value:
        raise ProgrammingError(f"{section}.url in {path} is no URL; write sqlfront: or sqlfront://host:port")


def _check_key(key: str, known: tuple[str, ...], section: str, path: Path) -> None:
    if key not in known:
        raise ProgrammingError(f"[{section}] in {path} has no key {_name(key)}; {did_you_mean(key, known)}")


def _wrong(place: str, expected: str, value: object, path: Path) -> ProgrammingError:
    return ProgrammingError(f"{place} in {path} must be {expected}, not {_type_name(value)}")


def _type_name(value: object) -> str:
    names: tuple[tuple[type, str], ...] = (
        (bool, "a boolean"),
        (int, "an integer"),
        (float, "a float"),
        (str, "a text"),
        (list, "a list"),
        (dict, "a section"),
    )
    return next((name for kind, name in names if isinstance(value, kind)), "a date or time")


def _name(text: str) -> str:
    return repr(_shown(text))


def _shown(text: str) -> str:
    return text if len(text) <= _CHARACTERS_SHOWN else f"{text[:_CHARACTERS_SHOWN]}…"
