"""Time zones, found by the names that Spark accepts."""

import datetime
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    import zoneinfo
else:
    zoneinfo = lazy_module("zoneinfo")

#: Offsets that java.time's ZoneOffset accepts, with an optional prefix.
_OFFSET: Final = re.compile(
    r"(?P<prefix>UTC|GMT|UT|)(?P<sign>[+-])(?:(?P<digit>\d)|(?P<hours>\d\d)"
    r"(?:(?P<colon>:?)(?P<minutes>\d\d)(?:(?P=colon)(?P<seconds>\d\d))?)?)"
)
#: Places where Spark inserts a zero: before one-digit hours that minutes follow, and before one-digit minutes
#: at the end.
_SHORT_HOURS: Final = re.compile(r"(?<=[+-])(?=\d:)")
_SHORT_MINUTES: Final = re.compile(r"(?<=[+-]\d\d:)(?=\d$)")
#: The largest offset of a time zone in Java (``ZoneOffset.MAX``).
_LONGEST: Final = datetime.timedelta(hours=18)
_UTC: Final = frozenset({"UTC", "GMT", "UT", "Z"})
#: Files of the zone data that are not zones of Java.
_NO_ZONES: Final = re.compile(r"(?:posix|right)/.*|Factory|ROC|localtime|posixrules")
_SHORT_NAMES: Final = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "EST": "-05:00",
    "HST": "-10:00",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "MST": "-07:00",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}


@lru_cache(maxsize=256)
def zone_of(name: str) -> datetime.tzinfo:
    """Return the zone of an IANA name, of one of Java's short names (``PST``) or of an offset (``+1``,
    ``GMT+01:30``). Raises ValueError if there is no such zone. UTC does not need the machine's zone data.

    >>> zone_of("UTC"), zone_of("PST")
    (datetime.timezone.utc, zoneinfo.ZoneInfo(key='America/Los_Angeles'))
    >>> str(zone_of("GMT-1:30"))
    'UTC-01:30'
    """
    known = java_id(name)
    if known in _UTC:
        return datetime.UTC
    match = _OFFSET.fullmatch(known)
    if match is not None:
        return datetime.timezone(_offset(match))
    if _NO_ZONES.fullmatch(known):
        raise ValueError(f"no time zone {name}")
    try:
        return zoneinfo.ZoneInfo(known)
    except (zoneinfo.ZoneInfoNotFoundError, OSError, ValueError):
        raise ValueError(f"no time zone {name}") from None


def java_id(name: str) -> str:
    """Return the name by which java.time calls a zone. Short names and offsets are written out; any other
    name is returned unchanged, whether or not there is such a zone. Raises ValueError for an offset that is
    out of range.

    >>> java_id("PST"), java_id("GMT+1"), java_id("+5:30"), java_id("-0")
    ('America/Los_Angeles', 'GMT+01:00', '+05:30', 'Z')
    """
    known = _SHORT_NAMES.get(name, name)
    match = _OFFSET.fullmatch(_SHORT_MINUTES.sub("0", _SHORT_HOURS.sub("0", known)))
    if match is None:
        return known
    offset = str(datetime.timezone(_offset(match))).removeprefix("UTC")
    return f"{match['prefix']}{offset}" or "Z"


def _offset(match: re.Match[str]) -> datetime.timedelta:
    hours, minutes, seconds = (int(match[name] or 0) for name in ("hours", "minutes", "seconds"))
    offset = datetime.timedelta(hours=hours + int(match["digit"] or 0), minutes=minutes, seconds=seconds)
    if minutes > 59 or seconds > 59 or offset > _LONGEST:
        raise ValueError(f"no offset {match[0]}")
    return -offset if match["sign"] == "-" else offset
