"""URLs without their secrets, for messages, logs and listings."""

import re
from typing import Final
from urllib.parse import unquote_plus

from sqlfront.configuration.options import option_named

#: The text in place of a part that is or may be a secret.
HIDDEN: Final = "***"
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,31}:(//)?")
#: Authorities whose form shows that no part is a password.
_AUTHORITY: Final = re.compile(r"(([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.%]*\])(:[0-9]{0,5})?)?")


def without_secrets(url: str) -> str:
    """Return the URL with ``***`` in place of every part that is or may be a secret: the user and password,
    the value of ``secret``, and values of unknown options. A malformed URL may hold a secret in any part, so
    that only parts of a known form are shown. Never raises an error.

    >>> without_secrets("sqlfront://:hunter2@db:4711?timeout=5&secret=hunter2")
    'sqlfront://***@db:4711?timeout=5&secret=***'
    >>> without_secrets("sqlfront://hunter2?/#@")
    'sqlfront://***'
    """
    scheme = _SCHEME.match(url)
    if scheme is None:
        return HIDDEN if set(url) & set(":/?#@&=%") else url
    place, mark, query = url[scheme.end() :].partition("?")
    if "@" in query or "#" in url:
        return f"{scheme[0]}{HIDDEN}"
    return f"{scheme[0]}{_place(place, has_authority=scheme[1] is not None)}{mark}{_query(query)}"


def _place(place: str, *, has_authority: bool) -> str:
    """Return the authority and the path of a URL with ``***`` in place of user and password, and in place of
    all else if its form isn't known. ``has_authority``: whether ``//`` precedes them."""
    user, at, rest = place.rpartition("@")
    if "@" in user:
        return HIDDEN
    authority, slash, path = rest.partition("/")
    if has_authority:
        known = _AUTHORITY.fullmatch(authority) is not None and not (authority and path)
    else:
        known = ":" not in rest
    shown = f"{authority}{slash}{path}" if known else HIDDEN
    return f"{HIDDEN}{at}{shown}" if at else shown


def _query(query: str) -> str:
    """Return the options of a URL up to the first secret, and ``***`` for all that follows: a secret may
    contain a raw ``&``, so that everything behind it may be part of it."""
    shown: list[str] = []
    for item in query.split("&") if query else ():
        name = item.partition("=")[0]
        option = option_named(unquote_plus(name))
        if option is None or option.secret or not _is_harmless(item):
            return "&".join([*shown, HIDDEN if option is None else f"{name}={HIDDEN}"])
        shown.append(item)
    return "&".join(shown)


def _is_harmless(item: str) -> bool:
    """Return whether an item ``name=value`` of a URL has one plain value, without characters behind which a
    secret may stand, such as the semicolon in the address of a Spark server."""
    value = unquote_plus(item.partition("=")[2])
    return not set(value) & set("@;#?=")
