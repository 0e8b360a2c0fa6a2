"""Writes Java's English names of time zones into the file from which datetime patterns take them.

python -m tests.oracle.zone_names
"""

from __future__ import annotations

import struct
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
from pyspark.sql import SparkSession

from sqlfront_values.functions.time import zone_names
from sqlfront_values.functions.time.zone_names import ZoneNames

#: The unit of times in the file of rules, and the instant of 0 there, in seconds since 1970.
_QUARTER, _EPOCH = 900, -4_575_744_000


def names_of(java: Any, zone: str, changes: tuple[list[int], list[int]]) -> ZoneNames:
    """The names of one zone, whose offsets in standard time change so."""
    of_pattern = java.java.time.format.DateTimeFormatter.ofPattern
    english = java.java.util.Locale.US
    region = java.java.time.ZoneId.of(zone)
    now = java.java.time.Instant.ofEpochSecond(0).atZone(region)
    clock = java.java.util.TimeZone.getTimeZone(zone)
    generic = [of_pattern(letters, english).format(now) for letters in ("v", "vvvv")]
    standard, daylight = (
        [clock.getDisplayName(is_daylight, style, english) for style in (0, 1)]
        for is_daylight in (False, True)
    )
    return ZoneNames([zone], standard, daylight, generic, *changes)


def standard_offsets(java_home: Path) -> dict[str, tuple[list[int], list[int]]]:
    """The instants at which each zone's offset in standard time changes, and the offsets, in the form of
    :class:`ZoneNames`. Java's methods tell the changes of the clock alone; a file of rules has
    these."""
    data = BytesIO((java_home / "lib" / "tzdb.dat").read_bytes())

    def number(form: str) -> int:
        return int(struct.unpack(form, data.read(struct.calcsize(form)))[0])

    def text() -> str:
        return data.read(number(">H")).decode()

    number(">b"), text()
    for _ in range(number(">h")):
        text()
    regions = [text() for _ in range(number(">h"))]
    rules = [data.read(number(">h")) for _ in range(number(">h"))]
    return {regions[number(">h")]: _changes(BytesIO(rules[number(">H")])) for _ in range(number(">h"))}


def _changes(rule: BytesIO) -> tuple[list[int], list[int]]:
    """The instants and offsets at the begin of a serialized ``ZoneRules``."""

    def instant() -> int:
        high = rule.read(1)
        if high == b"\xff":
            return int.from_bytes(rule.read(8), "big", signed=True)
        return int.from_bytes(high + rule.read(2), "big") * _QUARTER + _EPOCH

    def offset() -> int:
        quarters = int.from_bytes(rule.read(1), "big", signed=True)
        return int.from_bytes(rule.read(4), "big", signed=True) if quarters == 127 else quarters * _QUARTER

    rule.read(1)
    count = int.from_bytes(rule.read(4), "big")
    return [instant() for _ in range(count)], [offset() for _ in range(count + 1)]


def main() -> None:
    """Ask the JVM of a Spark session of its own, and write the file: one line for the zones of equal names
    and offsets."""
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    java: Any = spark._jvm
    changes = standard_offsets(Path(java.java.lang.System.getProperty("java.home")))
    found: dict[bytes, ZoneNames] = {}
    for zone in sorted(java.java.time.ZoneId.getAvailableZoneIds()):
        names = names_of(java, zone, changes[zone])
        key = msgspec.json.encode(msgspec.structs.replace(names, zones=[]))
        found.setdefault(key, msgspec.structs.replace(names, zones=[])).zones.append(zone)
    path = Path(zone_names.__file__).with_name(zone_names.FILE)
    path.write_bytes(b"\n".join(map(msgspec.json.encode, found.values())) + b"\n")


if __name__ == "__main__":
    main()
