"""The target of INSERT OVERWRITE DIRECTORY, with the checks of Spark's parser."""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from sqlfront_planner.statements.structs import InsertDirectory, Query
from sqlfront_values.errors import ProgrammingError, spark_error

#: The name of a format behind USING that means Hive's own formats.
_HIVE: Final = "hive"
_SCHEME: Final = re.compile(r"([^:/?#]+):")


def unique_options(given: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The options by key. Raises DUPLICATE_KEY for a key that stands twice in the same letters."""
    found: dict[str, str] = {}
    for key, value in given:
        if key in found:
            raise spark_error("DUPLICATE_KEY", f"Found duplicate keys `{key}`.")
        found[key] = value
    return found


def insert_directory(
    query: Query,
    path: str = "",
    format: str | None = None,
    options: Mapping[str, str] | None = None,
    *,
    local: bool = False,
) -> InsertDirectory:
    """The statement of these clauses. Raises ProgrammingError unless exactly one of the clauses has a path,
    for an empty path, and for LOCAL with anything but an absolute path of its own (Spark makes a URL of
    it)."""
    given = dict(options or {})
    paths = [given.pop(key) for key in tuple(given) if key.lower() == "path"]
    if bool(path) == bool(paths):
        raise ProgrammingError(
            "Directory path and 'path' in OPTIONS should be specified one, but not both.",
            condition="_LEGACY_ERROR_TEMP_0049",
        )
    if not path and (local or not paths[-1]):
        raise ProgrammingError("Can not create a Path from an empty string")
    if local:
        _check_local(path)
    name = None if format in (None, _HIVE) else format
    return InsertDirectory(path or paths[-1], query, name, given)


def _check_local(path: str) -> None:
    scheme = _SCHEME.match(path)
    if scheme is not None and scheme[1] != "file":
        raise spark_error(
            "LOCAL_MUST_WITH_SCHEMA_FILE",
            f"LOCAL must be used together with the schema of `file`, but got: `{scheme[1]}`.",
        )
    if scheme is None and not path.startswith("/"):
        raise ProgrammingError(f"LOCAL DIRECTORY takes an absolute path, not {path!r}")
