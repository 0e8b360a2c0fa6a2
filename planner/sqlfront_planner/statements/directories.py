"""The target of INSERT OVERWRITE DIRECTORY, with the checks of Spark's parser."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

import msgspec

from sqlfront_planner.statements.structs import InsertDirectory, OuterParameter
from sqlfront_values.errors import ProgrammingError, spark_error

#: The name of a format behind USING that means Hive's own formats.
_HIVE: Final = "hive"
_SCHEME: Final = re.compile(r"([^:/?#]+):")


class DirectoryTarget(msgspec.Struct, frozen=True):
    """The target of INSERT OVERWRITE DIRECTORY: the directory's ``path`` (a file path or a URL), and the file
    format with its ``options``. ``format`` None: the statement asks for one of Hive's formats, which are
    refused when it runs."""

    path: str
    format: str | None
    options: Mapping[str, str]


def unique_options(given: Iterable[tuple[str, str | OuterParameter]]) -> dict[str, str | OuterParameter]:
    """Return the options as a mapping. Raises DUPLICATE_KEY for a key that occurs twice; keys in different
    letter case differ."""
    found: dict[str, str | OuterParameter] = {}
    for key, value in given:
        if key in found:
            raise spark_error("DUPLICATE_KEY", f"Found duplicate keys `{key}`.")
        found[key] = value
    return found


def directory_target(statement: InsertDirectory, value_of: Callable[[str], object]) -> DirectoryTarget:
    """Return the target of the statement; ``value_of(name)`` returns the value of a parameter.

    The path comes from the statement's path or from the option ``path``. Raises ProgrammingError if both or
    none is given, if the path is empty or not a text, and for LOCAL with anything but an absolute path (of
    which Spark makes a URL) in the statement's path."""
    path = _path(statement.path, value_of)
    options = dict(statement.options)
    paths = [options.pop(key) for key in tuple(options) if key.lower() == "path"]
    if bool(path) == bool(paths):
        raise ProgrammingError(
            "Directory path and 'path' in OPTIONS should be specified one, but not both.",
            condition="_LEGACY_ERROR_TEMP_0049",
        )
    if statement.local and path:
        _check_local(path)
    chosen = path or ("" if statement.local else _path(paths[-1], value_of))
    if not chosen:
        raise ProgrammingError("Can not create a Path from an empty string")
    given = {key: _option(value, value_of) for key, value in options.items()}
    return DirectoryTarget(chosen, None if statement.format == _HIVE else statement.format, given)


def _path(given: str | OuterParameter | None, value_of: Callable[[str], object]) -> str:
    value = value_of(given.name) if isinstance(given, OuterParameter) else given or ""
    if not isinstance(value, str):
        raise spark_error("PARSE_SYNTAX_ERROR", f"The path of a directory is a text, not {value!r}.")
    return value


def _option(given: str | OuterParameter, value_of: Callable[[str], object]) -> str:
    if not isinstance(given, OuterParameter):
        return given
    value = value_of(given.name)
    if not isinstance(value, str | int):
        raise spark_error(
            "PARSE_SYNTAX_ERROR", f"An option is a text, a whole number or a truth value, not {value!r}."
        )
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_local(path: str) -> None:
    scheme = _SCHEME.match(path)
    if scheme is not None and scheme[1] != "file":
        raise spark_error(
            "LOCAL_MUST_WITH_SCHEMA_FILE",
            f"LOCAL must be used together with the schema of `file`, but got: `{scheme[1]}`.",
        )
    if scheme is None and not path.startswith("/"):
        raise ProgrammingError(f"LOCAL DIRECTORY takes an absolute path, not {path!r}")
