"""Locations as Spark reads them: paths and ``file:`` URLs, with Hadoop's globs."""

import os
import posixpath
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from sqlfront_engine.file_access import FileAccess
from sqlfront_values.errors import NotSupportedError, OperationalError

#: The characters that make a location a glob.
_MAGIC: Final = frozenset("{}[]*?\\")
_SCHEME: Final = re.compile(r"([^:/]*):")
#: The characters that are literal in a glob, but not in a regular expression.
_PLAIN: Final = frozenset(".$()|+")
#: The packages with which Spark reads other file systems, by the scheme of a URL.
_FILE_SYSTEMS: Final = {
    "s3": "hadoop-aws",
    "s3a": "hadoop-aws",
    "s3n": "hadoop-aws",
    "gs": "the Cloud Storage connector",
    "abfs": "hadoop-azure",
    "abfss": "hadoop-azure",
    "wasb": "hadoop-azure",
    "wasbs": "hadoop-azure",
}


def local_path(location: str) -> str:
    """Return the path of a location on the local file system, normalized; it may be relative, and may be a
    glob. Raises NotSupportedError, which names the scheme, for a URL of another file system.

    >>> local_path("file:///data//day/../t/"), local_path("data/t")
    ('/data/t', 'data/t')
    """
    scheme = _SCHEME.match(location)
    if scheme is not None:
        if scheme[1].lower() != "file":
            raise _no_file_system(scheme[1])
        location = location[scheme.end() :]
        if not location.startswith("/") or re.match(r"//[^/]", location):
            raise OperationalError(f"file:{location} is not a path on this machine; write file:///path")
    slashes = re.sub("/{2,}", "/", location)
    return posixpath.normpath(slashes)


def _no_file_system(scheme: str) -> NotSupportedError:
    needed = _FILE_SYSTEMS.get(scheme.lower())
    hint = f" with {needed}" if needed else ""
    return NotSupportedError(
        f'there is no file system here for the scheme "{scheme}"; an attached Spark session reads it{hint}'
    )


def expand(path: str, access: FileAccess) -> list[str]:
    """Return the existing paths that a local path or glob names, sorted; empty if there is none. As in
    Hadoop, wildcards match hidden names, too. Access is checked before existence, so that the error for a
    forbidden path doesn't reveal whether the path exists."""
    if not is_glob(path):
        return [path] if _exists(path, access) else []
    found: set[str] = set()
    for pattern in _without_slashes_in_braces(path):
        root = "/" if pattern.startswith("/") else ""
        found.update(_matching(root, [part for part in pattern.split("/") if part], access))
    return sorted(found)


def _exists(path: str, access: FileAccess) -> bool:
    access.check(path)
    return os.path.exists(path)


def is_glob(path: str) -> bool:
    """Return whether a path has characters with a special meaning in a glob."""
    return not _MAGIC.isdisjoint(path)


def _matching(directory: str, parts: list[str], access: FileAccess) -> Iterator[str]:
    """Yield the existing paths below a directory whose first name matches the first of ``parts``, whose
    second name matches the second, and so on. A directory "" is the current directory."""
    if not parts:
        if _exists(directory, access):
            yield directory
        return
    part, rest = parts[0], parts[1:]
    pattern = compiled(part)
    if pattern is None:
        yield from _matching(os.path.join(directory, re.sub(r"\\(.)", r"\1", part)), rest, access)
        return
    try:
        names = access.names(directory or ".")
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in names:
        if pattern.fullmatch(name):
            yield from _matching(os.path.join(directory, name), rest, access)


def compiled(glob: str) -> re.Pattern[str] | None:
    """Return a regular expression for one part of a glob, the text between two slashes; None if the part has
    no wildcard. Raises OperationalError for an invalid glob.

    >>> bool(compiled("a{b,c}[!x]?").fullmatch("acyz"))
    True
    >>> compiled("plain") is None
    True
    """
    text, wild, in_set, groups = [], False, False, 0
    position = 0
    while position < len(glob):
        c = glob[position]
        if c == "\\":
            position += 1
            if position == len(glob):
                raise _illegal(glob, "Missing escaped character")
            text.append(re.escape(glob[position]))
        elif in_set:
            if c == "[":
                raise _illegal(glob, "Unclosed character class")
            text.append("^" if c == "!" and glob[position - 1] == "[" else c)
            in_set = c != "]"
        elif c == "[":
            wild = in_set = True
            text.append(c)
        elif c == "{":
            wild, groups = True, groups + 1
            text.append("(?:")
        elif c == "}" and groups:
            groups -= 1
            text.append(")")
        elif c == "," and groups:
            text.append("|")
        elif c in "*?":
            wild = True
            text.append(".*" if c == "*" else ".")
        else:
            text.append(f"\\{c}" if c in _PLAIN or c == "^" else c)
        position += 1
    if in_set or groups:
        raise _illegal(glob, "Unclosed character class" if in_set else "Unclosed group")
    if not wild:
        return None
    try:
        return re.compile("".join(text), re.DOTALL)
    except re.error as error:
        raise _illegal(glob, str(error)) from None


def _illegal(glob: str, why: str) -> OperationalError:
    return OperationalError(f"Illegal file pattern: {why}: `{glob}`")


def _without_slashes_in_braces(glob: str) -> list[str]:
    """Replace a glob with slashes inside braces by several globs, one for each choice in these braces; other
    globs stay.

    >>> _without_slashes_in_braces("{a/b,c}/{d,e}")
    ['a/b/{d,e}', 'c/{d,e}']
    """
    depth, start, has_slash, commas = 0, 0, False, list[int]()
    position = 0
    while position < len(glob):
        c = glob[position]
        if c == "\\":
            position += 1
        elif c == "{":
            if depth == 0:
                start, has_slash, commas = position, False, []
            depth += 1
        elif c == "}" and depth:
            depth -= 1
            if depth == 0 and has_slash:
                edges = [start, *commas, position]
                inner = [glob[left + 1 : right] for left, right in pairwise(edges)]
                tails = [glob[:start] + choice + glob[position + 1 :] for choice in inner]
                return [done for each in tails for done in _without_slashes_in_braces(each)]
        elif c == "," and depth == 1:
            commas.append(position)
        elif c == "/" and depth:
            has_slash = True
        position += 1
    return [glob]
