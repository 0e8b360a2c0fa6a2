"""Between instants and wall clocks: the table of days against the zone's rules, row by row."""

import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from sqlfront_values.zones.changes import Micros
from sqlfront_values.zones.wall_clock import instants_of, offset_micros, wall_clock

SECOND = 1_000_000
DAY = 86_400 * SECOND
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
#: Around changes of the offset, on the hour and beside it, and beyond what is tabulated.
ZONES = {
    "Europe/Paris": ["1945-04-02", "2024-03-31", "2024-10-27", "2099-10-25"],
    "Australia/Lord_Howe": ["2024-04-06", "2024-10-05"],
    "Pacific/Apia": ["2011-12-30"],
    "America/Sao_Paulo": ["1931-10-03", "2018-11-04"],
    "PST": ["1899-12-31", "2024-03-10"],
}


def times(days: list[str]) -> Micros:
    """Times of three days around each of some days, more of them than are looked at one by one."""
    starts = np.array([(datetime.date.fromisoformat(day) - EPOCH.date()).days for day in days]) * DAY
    steps = np.arange(-DAY, 2 * DAY, 15 * 60 * SECOND)
    around = (starts[:, np.newaxis] + steps).ravel()
    return np.tile(np.concatenate([around, around - 1]), 8)


def python_zone(name: str) -> ZoneInfo:
    return ZoneInfo("America/Los_Angeles" if name == "PST" else name)


@pytest.mark.parametrize("zone", ZONES)
def test_many_instants_show_as_python_shows_each(zone: str) -> None:
    instants = times(ZONES[zone])
    assert len(instants) > 4096

    wanted = {
        micros: (EPOCH + datetime.timedelta(microseconds=micros))
        .astimezone(python_zone(zone))
        .replace(tzinfo=datetime.UTC)
        for micros in set(instants.tolist())
    }
    clock = wall_clock(instants, zone)

    assert {
        micros: EPOCH + datetime.timedelta(microseconds=shown)
        for micros, shown in zip(instants.tolist(), clock.tolist(), strict=True)
    } == wanted


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("preferred", [None, 0, 3600 * SECOND])
def test_many_wall_clock_times_are_the_instants_that_few_are(zone: str, preferred: int | None) -> None:
    clock = times(ZONES[zone])
    offsets = None if preferred is None else np.array([preferred])
    parts = [instants_of(part, zone, offsets) for part in np.array_split(clock, 16)]

    assert (instants_of(clock, zone, offsets) == np.concatenate(parts)).all()


@pytest.mark.parametrize(
    ("zone", "instant", "shown"),
    [
        ("Europe/Paris", "2099-07-01T00:00:00", "2099-07-01T02:00:00"),
        ("America/Los_Angeles", "2050-07-01T00:00:00", "2050-06-30T17:00:00"),
        ("Europe/Paris", "9999-07-01T00:00:00", "9999-07-01T02:00:00"),
        ("Europe/Paris", "1850-07-01T00:00:00", "1850-07-01T00:09:21"),
    ],
)
def test_rules_hold_for_all_years(zone: str, instant: str, shown: str) -> None:
    """As Spark answers; Arrow's kernels know no change after 2037."""
    micros, clock = (np.array([text], "datetime64[us]").view(np.int64) for text in (instant, shown))

    assert wall_clock(micros, zone).tolist() == clock.tolist()
    assert instants_of(clock, zone).tolist() == micros.tolist()


@pytest.mark.parametrize(
    ("clock", "instant"),
    [("2099-10-25T02:30:00", "2099-10-25T00:30:00"), ("2099-03-29T02:30:00", "2099-03-29T01:30:00")],
)
def test_times_that_a_clock_shows_twice_or_never(clock: str, instant: str) -> None:
    shown, micros = (np.array([text], "datetime64[us]").view(np.int64) for text in (clock, instant))

    assert instants_of(shown, "Europe/Paris").tolist() == micros.tolist()


def test_years_beyond_pythons() -> None:
    year = 12_000
    assert offset_micros(((year - 1970) * 365 + 2432 + 181) * DAY, ZoneInfo("Europe/Paris")) == 7200 * SECOND
