"""URLs of sessions and clusters, with options.

``sqlfront:``                       a session in this process
``sqlfront:folder``                 the same, with the relative ``folder`` as its warehouse
``sqlfront:///path``                a folder: a session with that warehouse; a socket: the socket's cluster
``sqlfront://``                     the cluster that was started on this machine
``sqlfront://host:port``            a cluster; also ``sqlfront+cluster://host:port``
``sqlfront+cluster:///path``        the cluster of the socket, or of the folder with the cluster's files

Options follow a question mark: ``?members=3&timeout=5``. A password, as in ``sqlfront://:password@host:port``,
is the cluster's secret. All parts may be percent-encoded, and secrets with ``/ ? # @ % &`` have to be.
"""

import os
import re
import stat
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, unquote, unquote_plus

import msgspec

from sqlfront.configuration.options import OPTIONS, OptionValue, did_you_mean, option_named
from sqlfront.configuration.redaction import without_secrets
from sqlfront_cluster.network.addresses import UNIX_PREFIX, Address
from sqlfront_values.errors import OperationalError, ProgrammingError

_FORM: Final = re.compile(
    r"(?P<scheme>sqlfront(\+cluster)?):(?P<slashes>//)?(?P<place>[^?]*)(\?(?P<query>.*))?", re.DOTALL
)
_IN_URLS: Final = tuple(option.name for option in OPTIONS if option.in_url)
#: The scheme of the addresses that :func:`sqlfront.cluster.addresses.find` takes.
_CLUSTER: Final = "sqlfront://"
#: Characters of a URL that a message shows.
_LONGEST_SHOWN: Final = 200
#: Percent signs that begin no encoded byte, and encoded bytes that no path or option may hold.
_BAD_ENCODING: Final = re.compile(r"%(?![0-9A-Fa-f]{2})|%00|\0")


class ParsedUrl(msgspec.Struct, frozen=True):
    """The parts of a URL: the address of the ``cluster``, None = a new session without a cluster, and the
    ``options`` by name. A warehouse and a secret before the question mark are among the options."""

    cluster: str | None
    options: Mapping[str, OptionValue]

    def __repr__(self) -> str:
        return f"ParsedUrl(cluster={self.cluster!r}, options={sorted(self.options)})"


def parse_url(url: str) -> ParsedUrl:
    """Parse a URL. Raises ProgrammingError for a malformed URL, and for unknown or repeated options,
    OperationalError for a path at which there is neither a folder nor a socket; no message shows a
    secret."""
    form = _FORM.fullmatch(url)
    if form is None:
        raise _malformed(url, "use sqlfront: for a session of its own, sqlfront://host:port for a cluster")
    if not _is_encodable(url):
        raise _malformed(url, "a character has no encoding in UTF-8")
    if "#" in url:
        raise _malformed(url, "write # as %23")
    if _BAD_ENCODING.search(url):
        raise _malformed(url, "a percent sign begins two hexadecimal digits (write % as %25), other than 00")
    options = _options(form["query"], url)
    is_cluster = form["scheme"] != "sqlfront"
    if form["slashes"] is None:
        if is_cluster:
            raise _malformed(url, "use sqlfront+cluster://host:port")
        if set(form["place"]) & set(":@"):
            raise _malformed(
                url,
                "a cluster is written sqlfront://host:port; in a folder's name write : as %3A and @ as %40",
            )
        return ParsedUrl(None, _with(options, "warehouse", unquote(form["place"]), url))
    user, at, place = form["place"].rpartition("@")
    if at:
        options = _with(options, "secret", _password(user, url), url)
    if place.startswith("/"):
        return _at_path(unquote(place), options, url, is_cluster=is_cluster)
    return ParsedUrl(_CLUSTER + _checked_authority(place, url), options)


def not_an_address(text: str) -> ProgrammingError:
    """Return the error of a text that is neither the address nor the folder of a cluster."""
    return ProgrammingError(
        f"{_shown(text)!r} is neither the address of a cluster, such as {_CLUSTER}host:port, nor a folder"
        " that exists"
    )


def _options(query: str | None, url: str) -> dict[str, OptionValue]:
    """Return the options behind the question mark. Raises ProgrammingError for unknown or repeated options. A
    raw ``&`` may cut a secret in two, so that the message shows no name that follows a secret."""
    options: dict[str, OptionValue] = {}
    for item in (query or "").split("&") if query else ():
        name, _, value = item.partition("=")
        name = unquote_plus(name)
        option = option_named(name)
        if option is None or not option.in_url:
            raise _unknown(name, url, after_secret="secret" in options)
        if name in options:
            raise _malformed(url, f"the option {name!r} is given twice")
        options[name] = option.parsed(unquote_plus(value), f"the option {name} of the URL")
    return options


def _unknown(name: str, url: str, *, after_secret: bool) -> ProgrammingError:
    if after_secret or "@" in url:
        return _malformed(url, "an option behind the secret is unknown; write & in a secret as %26")
    shown = name if len(name) <= 40 else f"{name[:40]}…"
    return _malformed(url, f"{shown!r} is not an option; {did_you_mean(shown, _IN_URLS)}")


def _with(options: Mapping[str, OptionValue], name: str, value: str, url: str) -> dict[str, OptionValue]:
    """Return the options with the option ``name`` added, unless its value is empty. Raises ProgrammingError
    if the options have it already."""
    if not value:
        return dict(options)
    if name in options:
        raise _malformed(url, f"{name} is given twice: by the first part of the URL, and as an option")
    return {**options, name: value}


def _password(user: str, url: str) -> str:
    """Return the secret from ``:secret``, the part of the URL before ``@``. Raises ProgrammingError if the
    part has another form."""
    name, colon, password = user.partition(":")
    if name or not colon or set(password) & set("/@"):
        raise _malformed(
            url,
            "a cluster has a secret and no users: write sqlfront://:secret@host:port, / as %2F and @ as %40",
        )
    return unquote(password)


def _checked_authority(place: str, url: str) -> str:
    """Return ``place`` without a final slash: ``host:port`` or ``[IPv6]:port``, or empty for this machine's
    cluster. Raises ProgrammingError for another form."""
    if place.endswith("/"):
        place = place[:-1]
    if place:
        try:
            Address.parse(unquote(place))
        except ProgrammingError:
            shown = _shown(_CLUSTER + place).removeprefix(_CLUSTER)
            raise _malformed(url, f"{shown!r} is not an address; write host:port or [IPv6]:port") from None
        if unquote(place).startswith(UNIX_PREFIX) or "/" in place:
            raise _malformed(url, "a cluster's socket is written sqlfront+cluster:///path")
    return place


def _at_path(path: str, options: Mapping[str, OptionValue], url: str, *, is_cluster: bool) -> ParsedUrl:
    """Return the parts of a URL with an absolute path: of a folder, which is a new session's warehouse, or of
    a cluster's socket. ``is_cluster``: whether the URL says that the path is a cluster's. Raises
    OperationalError if the path is neither."""
    address = _CLUSTER + quote(path)
    if is_cluster:
        return ParsedUrl(address, options)
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        raise OperationalError(
            f"{_shown(url)}: there is neither a folder nor a cluster's socket: {error.strerror}",
            sqlstate="08001",
        ) from error
    if stat.S_ISDIR(mode):
        return ParsedUrl(None, _with(options, "warehouse", path, url))
    if stat.S_ISSOCK(mode):
        return ParsedUrl(address, options)
    raise OperationalError(f"{_shown(url)}: a file, not a folder or a cluster's socket", sqlstate="08001")


def _malformed(url: str, reason: str) -> ProgrammingError:
    return ProgrammingError(f"the URL {_shown(url)!r} can't be used: {reason}")


def _shown(url: str) -> str:
    shown = without_secrets(url)
    return shown if len(shown) <= _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]}…"


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
