"""Local time: from instants (UTC) to what a clock in a time zone shows, and back, as ``java.time`` does it.

Instants and local times are int64 numpy arrays of microseconds since 1970-01-01 00:00. Offsets come from
Arrow's time zone database; UTC and fixed offsets need none.
"""

import re
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from sqlfront_engine.arrays import from_numpy, numpy_view
from sqlfront_engine.errors import DatabaseError, spark_error
from sqlfront_engine.types import TIMESTAMP_NTZ

Micros = npt.NDArray[np.int64]

SECOND: Final = 1_000_000
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR

#: ``java.time.ZoneId.SHORT_IDS``.
_SHORT_IDS: Final = {
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
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
    "EST": "-05:00",
    "MST": "-07:00",
    "HST": "-10:00",
}
_OFFSET: Final = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{1,2})(?::?(\d{2}))?)?")


@lru_cache(maxsize=256)
def fixed_offset(zone: str) -> int | None:
    """The offset in microseconds of a zone that has only one (``"UTC"``, ``"+05:30"``, ``"GMT-3"``), else
    None.

    >>> fixed_offset("+05:30") // SECOND, fixed_offset("Europe/Paris")
    (19800, None)

    Errors: INVALID_TIMEZONE for a zone that isn't known.
    """
    zone = _SHORT_IDS.get(zone, zone)
    if zone in ("UTC", "Z", "GMT", "UT", "Etc/UTC"):
        return 0
    match = _OFFSET.fullmatch(zone)
    if match is not None:
        sign, hours, minutes, seconds = match.groups("0")
        offset = int(hours) * HOUR + int(minutes) * MINUTE + int(seconds) * SECOND
        if offset > 18 * HOUR or int(minutes) > 59 or int(seconds) > 59:
            raise invalid_zone(zone)
        return -offset if sign == "-" else offset
    try:
        ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise invalid_zone(zone) from None
    return None


def invalid_zone(zone: str) -> DatabaseError:
    """INVALID_TIMEZONE."""
    return spark_error(
        "INVALID_TIMEZONE",
        f"The timezone: {zone} is invalid. The timezone must be either a region-based zone ID or a zone"
        " offset. Region IDs must have the form 'area/city', such as 'America/Los_Angeles'. Zone offsets must"
        " be in the format '(+|-)HH', '(+|-)HH:mm' or '(+|-)HH:mm:ss', e.g '-08' , '+01:00' or '-13:33:33',"
        " and must be in the range from -18:00 to +18:00. 'Z' and 'UTC' are accepted as synonyms for"
        " '+00:00'.",
    )


def to_local(instants: Micros, zone: str) -> Micros:
    """What a clock in the zone shows at the instants."""
    offset = fixed_offset(zone)
    if offset is not None:
        return instants + offset if offset else instants
    zoned = from_numpy(instants, pa.timestamp("us", tz=_SHORT_IDS.get(zone, zone)))
    return numpy_view(pc.local_timestamp(zoned)).view(np.int64)


def to_instants(local: Micros, zone: str, preferred: Micros | None = None) -> Micros:
    """The instants at which a clock in the zone shows the local times.

    Where it shows one twice the earlier instant counts, unless the later one has the ``preferred`` offset
    (in microseconds); where it leaves one out, the time moves forward by the length of the gap.
    """
    offset = fixed_offset(zone)
    if offset is not None:
        return local - offset if offset else local
    naive = from_numpy(local, TIMESTAMP_NTZ)
    instants = _assume(naive, zone, "earliest")
    skipped = to_local(instants, zone) != local
    if skipped.any():
        # Arrow's "earliest" is the last instant before the gap; the offset there is the one that still
        # counts.
        before = instants[skipped]
        instants[skipped] = local[skipped] - (to_local(before, zone) - before)
    if preferred is not None:
        later = _assume(naive, zone, "latest")
        keep = (local - later == preferred) & ~skipped
        instants[keep] = later[keep]
    return instants


def _assume(naive: pa.Array, zone: str, which: str) -> Micros:
    options = pc.AssumeTimezoneOptions(_SHORT_IDS.get(zone, zone), ambiguous=which, nonexistent=which)
    return numpy_view(pc.get_function("assume_timezone").call([naive], options)).astype(np.int64)
