"""URLs of engines as arguments of :func:`sqlfront.connect`.

``sqlfront://`` opens a session in this process. ``sqlfront:///folder`` does so with the folder as the
session's warehouse (``sqlfront:////folder``: from the root, as in SQLite's URLs).
``sqlfront+cluster://:secret@host:port`` opens a session of the cluster at this address,
``sqlfront+cluster:///path`` of the cluster in this folder, or at this Unix socket. Options follow a question
mark, with the names and values of :mod:`sqlfront.configuration.options`; besides, ``spark`` says how to start
a Spark session beside the session, and ``session`` gives the session a name, by which engines share it.
"""

from typing import Final
from urllib.parse import quote

import msgspec
from sqlalchemy.engine import URL

from sqlfront.configuration.options import OPTIONS, OptionValue, did_you_mean, option_named
from sqlfront_values.errors import ProgrammingError

#: The options of engines that :func:`sqlfront.connect` has no text form of.
_SESSION: Final = "session"
_SPARK: Final = "spark"
#: The URL of :func:`sqlfront.connect` for a session of this process. A URL gives a connection its place, so
#: that the environment doesn't make the session one of a cluster, or give the session members.
_OWN: Final = "sqlfront:"
_KNOWN: Final = (*(option.name for option in OPTIONS if option.in_url), _SESSION, _SPARK)


class EngineUrl(msgspec.Struct, frozen=True):
    """The parts of an engine's URL: the keywords of :func:`sqlfront.connect`, and the name of the session;
    None if the engine shares its session with no other engine."""

    keywords: dict[str, OptionValue]
    session: str | None = None

    def __repr__(self) -> str:
        return f"EngineUrl({sorted(self.keywords)}, session={self.session!r})"


def engine_url(url: URL, *, cluster: bool) -> EngineUrl:
    """Return the parts of an engine's URL. ``cluster``: whether the URL names a running cluster. Raises
    ProgrammingError for an unknown option, for a value that the option doesn't allow, and for an address or
    folder that the kind of URL can't have; no message shows a secret.

    >>> from sqlalchemy.engine import make_url
    >>> engine_url(make_url("sqlfront://?members=3"), cluster=False).keywords
    {'members': 3, 'url': 'sqlfront:'}
    """
    texts = {name: _text(name, value) for name, value in url.query.items()}
    session = texts.pop(_SESSION, None)
    keywords = {name: _value(name, text) for name, text in texts.items()}
    keywords |= _cluster(url) if cluster else _own(url)
    return EngineUrl(keywords, session)


def _cluster(url: URL) -> dict[str, OptionValue]:
    keywords: dict[str, OptionValue] = {"cluster": f"sqlfront://{_place(url)}"}
    if url.username:
        raise ProgrammingError(
            "a cluster has a secret and no users: write sqlfront+cluster://:secret@host:port"
        )
    if url.password is not None:
        keywords["secret"] = str(url.password)
    return keywords


def _place(url: URL) -> str:
    """Return the cluster's address as :func:`sqlfront.connect` takes it behind ``sqlfront://``: host and
    port, or the absolute path of a folder or Unix socket. Raises ProgrammingError for a URL with both host
    and path."""
    if url.database and url.host:
        raise ProgrammingError(
            f"a cluster has no databases ({url.database}); write sqlfront+cluster://:secret@host:port, or"
            " sqlfront+cluster:///path for a cluster's folder or socket"
        )
    if url.database:
        return "/" + quote(url.database.lstrip("/"))
    host = url.host or ""
    return (f"[{host}]" if ":" in host else host) + ("" if url.port is None else f":{url.port}")


def _own(url: URL) -> dict[str, OptionValue]:
    if url.host is not None:
        raise ProgrammingError(
            f"sqlfront:// is a session of this process and has no host ({url.host}); write a cluster as"
            " sqlfront+cluster://host:port, a folder as sqlfront:///folder"
        )
    place: dict[str, OptionValue] = {"url": _OWN}
    return place | ({"warehouse": url.database} if url.database else {})


def _text(name: str, value: str | tuple[str, ...]) -> str:
    if isinstance(value, str):
        return value
    raise ProgrammingError(f"the URL has the option {name} {len(value)} times")


def _value(name: str, text: str) -> OptionValue:
    if name == _SPARK:
        return text
    option = option_named(name)
    if option is None or not option.in_url:
        raise ProgrammingError(f"{name!r} is not an option of the URL; {did_you_mean(name, _KNOWN)}")
    return option.parsed(text, f"the option {name} of the URL")
