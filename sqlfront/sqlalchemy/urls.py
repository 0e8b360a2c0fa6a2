"""URLs of engines as arguments of :func:`sqlfront.connect`.

``sqlfront://`` opens a session of this process, ``sqlfront+cluster://host:port`` one of a running cluster,
with the cluster's secret as password. Options in the query are the keywords of :func:`sqlfront.connect`:
``sqlfront://?members=3&time_zone=Europe/Paris``.
"""

from collections.abc import Callable
from typing import Any, Final

from sqlalchemy.engine import URL

from sqlfront.sqlalchemy.elements import Element, Keywords
from sqlfront_values.errors import ProgrammingError

_TRUE: Final = frozenset({"true", "1", "yes", "on"})
_FALSE: Final = frozenset({"false", "0", "no", "off"})


def _boolean(text: str) -> bool:
    if text.lower() in _TRUE:
        return True
    if text.lower() in _FALSE:
        return False
    raise ValueError(text)


#: Readers of options that aren't texts, and what the option is in words.
_READERS: Final[dict[str, tuple[Callable[[str], Any], str]]] = {
    **dict.fromkeys(("workers", "members", "memory_limit"), (int, "a whole number")),
    "timeout": (float, "a number of seconds"),
    **dict.fromkeys(("insecure", "allow_user_code"), (_boolean, "true or false")),
}
_TEXTS: Final = frozenset(
    {
        "secret",
        "credentials",
        "certificate",
        "key",
        "authority",
        "launcher",
        "time_zone",
        "file_access",
        "spark",
    }
)


def connect_arguments(url: URL, *, cluster: bool) -> Keywords:
    """The keywords of :func:`sqlfront.connect` for a URL. Raises ProgrammingError for an unknown option, or a
    value that isn't one of its option.

    >>> from sqlalchemy.engine import make_url
    >>> connect_arguments(make_url("sqlfront://?members=3"), cluster=False)
    {'members': 3}
    """
    arguments = {name: _read(name, value) for name, value in url.query.items()}
    if not cluster:
        if url.host is not None:
            raise ProgrammingError(
                f"sqlfront:// opens a session of this process and takes no host ({url.host}); a running"
                " cluster is sqlfront+cluster://host:port"
            )
        return arguments
    place = "" if url.host is None else url.host + ("" if url.port is None else f":{url.port}")
    arguments["cluster"] = f"sqlfront://{place}"
    if url.password is not None:
        arguments["secret"] = str(url.password)
    return arguments


def _read(name: str, value: str | tuple[str, ...]) -> Element:
    if name == "file_access" and not isinstance(value, str):
        return value
    if not isinstance(value, str):
        raise ProgrammingError(f"the option {name} stands in the URL {len(value)} times")
    if name in _TEXTS:
        return value
    reader = _READERS.get(name)
    if reader is None:
        known = ", ".join(sorted(_TEXTS | set(_READERS)))
        raise ProgrammingError(f"the URL has an unknown option {name}; the options are {known}")
    read, kind = reader
    try:
        return read(value)
    except ValueError:
        raise ProgrammingError(f"the URL's option {name} must be {kind}, not {value!r}") from None
