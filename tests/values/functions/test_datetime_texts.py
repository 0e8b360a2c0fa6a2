"""Datetimes from and to texts."""

from datetime import UTC, date, datetime

import pytest

from sqlfront_values.errors import NotSupportedError
from sqlfront_values.functions.time.formatting import Moment, formatter
from sqlfront_values.functions.time.parsing import parser
from sqlfront_values.types import BIGINT, DATE, TIMESTAMP
from tests.values.functions.kernel_cases import Case, Fails, Table, Typed, cases, check

MICROS = datetime(2020, 7, 2, 15, 4, 5, 120034, tzinfo=UTC)
MIDNIGHT = datetime(2020, 1, 5, tzinfo=UTC)
LEGACY = Fails("INCONSISTENT_BEHAVIOR_CROSS_VERSION.DATETIME_PATTERN_RECOGNITION")
WEEK = Fails("INCONSISTENT_BEHAVIOR_CROSS_VERSION.DATETIME_WEEK_BASED_PATTERN")
INVALID = Fails("INVALID_DATETIME_PATTERN.WITH_SUGGESTION")
LETTER = Fails("INVALID_DATETIME_PATTERN.ILLEGAL_CHARACTER")
UNREADABLE = Fails("CANNOT_PARSE_TIMESTAMP")


def on(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type,misc]


FORMATTING: Table = {
    "date_format": [
        (MICROS, "yyyy-MM-dd HH:mm:ss.SSS", "2020-07-02 15:04:05.120"),
        (MICROS, "yyyy-MM-dd HH:mm:ss", "2020-07-02 15:04:05"),
        (MICROS, "dd/MM/yyyy", "02/07/2020"),
        (MICROS, "100% yyyy", "100% 2020"),
        (MICROS, "G GG GGGG", "AD AD Anno Domini"),
        (MICROS, "y yy yyy yyyy yyyyy yyyyyy", "2020 20 2020 2020 02020 002020"),
        (MICROS, "q qq qqq qqqq Q QQ QQQ QQQQ", "3 03 Q3 3rd quarter 3 03 Q3 3rd quarter"),
        (MICROS, "M MM MMM MMMM L LL LLL LLLL", "7 07 Jul July 7 07 Jul July"),
        (MICROS, "d dd D DD DDD F", "2 02 184 184 184 2"),
        (MICROS, "E EE EEE EEEE a", "Thu Thu Thu Thursday PM"),
        (MICROS, "h hh H HH k kk K KK m mm s ss", "3 03 15 15 15 15 3 03 4 04 5 05"),
        (MICROS, "S SS SSSS SSSSSS SSSSSSSSS", "1 12 1200 120034 120034000"),
        (MICROS, "VV z zzzz O OOOO", "UTC UTC Coordinated Universal Time GMT GMT"),
        (MICROS, "X XXX XXXXX x xx xxx xxxx", "Z Z Z +00 +0000 +00:00 +0000"),
        (MICROS, "Z ZZZ ZZZZ ZZZZZ", "+0000 +0000 GMT Z"),
        (MICROS, "'quoted' '' yyyy'T'", "quoted ' 2020T"),
        (MICROS, "yyyy[-MM]", "2020-07"),
        (MICROS, "yyyy年MM月", "2020年07月"),
        (MICROS, "y''y", "2020'2020"),
        (MICROS, "", ""),
        (MIDNIGHT, "h hh H K k a E", "12 12 0 0 24 AM Sun"),
        (on(44, 3, 15), "y yy yyy yyyy yyyyy D", "44 44 044 0044 00044 75"),
        (on(999, 3, 15), "yyyy-MM-dd", "0999-03-15"),
        (MICROS, None, None),
        (Typed(None, TIMESTAMP), "y", None),
        (MICROS, "Y", LEGACY),
        (MICROS, "u", LEGACY),
        (MICROS, "w", LEGACY),
        (MICROS, "aa", LEGACY),
        (MICROS, "MMMMM", LEGACY),
        (MICROS, "ddd", LEGACY),
        (MICROS, "yyyy#", LEGACY),
        (MICROS, "yyyy]", LEGACY),
        (MICROS, "e", WEEK),
        (MICROS, "c", WEEK),
        (MICROS, "b", INVALID),
        (MICROS, "'abc", INVALID),
        (MICROS, "V", INVALID),
        (MICROS, "XXXXXX", INVALID),
        (MICROS, "B", LETTER),
        (MICROS, "n", LETTER),
        (MICROS, "QQQQQ", Fails("INVALID_DATETIME_PATTERN.LENGTH")),
    ],
    "from_unixtime": [
        (0, "1970-01-01 00:00:00"),
        (1577934245, "yyyy-MM-dd", "2020-01-02"),
        (-1, "1969-12-31 23:59:59"),
        (0, "HH:mm", "00:00"),
        (Typed(None, BIGINT), None),
        (0, None, None),
    ],
    "dayname": [(date(2020, 1, 2), "Thu"), (date(1969, 12, 31), "Wed"), (None, None)],
    "monthname": [(date(2020, 1, 2), "Jan"), (date(1969, 12, 31), "Dec"), (None, None)],
}
READING: Table = {
    "to_date": [
        ("2020-01-02", date(2020, 1, 2)),
        ("2020-01-02 12:00:00", date(2020, 1, 2)),
        (on(2020, 1, 1, 23), date(2020, 1, 1)),
        (date(2020, 1, 1), "yyyy", date(2020, 1, 1)),
        ("02/01/2020", "dd/MM/yyyy", date(2020, 1, 2)),
        ("2020", "yyyy", date(2020, 1, 1)),
        ("20200102", "yyyyMMdd", date(2020, 1, 2)),
        ("Jan 5, 2020", "MMM d, yyyy", date(2020, 1, 5)),
        ("JANUARY 5 2020", "MMMM d yyyy", date(2020, 1, 5)),
        ("2020-01-02 23:30 -0500", "yyyy-MM-dd HH:mm Z", date(2020, 1, 3)),
        ("2020-01-02", "yyyy-MM-dd", date(2020, 1, 2)),
        (Typed(None, DATE), None),
        (None, "yyyy", None),
        ("x", None, None),
        ("x", Fails("CAST_INVALID_INPUT")),
        ("x", "yyyy", UNREADABLE),
        ("2020-13-01", "yyyy-MM-dd", UNREADABLE),
        ("2020-02-30", "yyyy-MM-dd", UNREADABLE),
        ("2020-1-1", "yyyy-MM-dd", UNREADABLE),
        ("2020-01-01 x", "yyyy-MM-dd", UNREADABLE),
        ("Mon", "E", LEGACY),
        ("2020-3", "yyyy-Q", LETTER),
    ],
    "try_to_date": [("x", None), ("x", "yyyy", None), ("2020", "yyyy", date(2020, 1, 1))],
    "to_timestamp": [
        ("2020-01-02 03:04:05", on(2020, 1, 2, 3, 4, 5)),
        ("2020-01-02 03:04:05.123456", "yyyy-MM-dd HH:mm:ss.SSSSSS", on(2020, 1, 2, 3, 4, 5, 123456)),
        ("2020-01-02 03:04:05", "yyyy-MM-dd HH:mm:ss", on(2020, 1, 2, 3, 4, 5)),
        ("02.01.2020 3:04 PM", "dd.MM.yyyy h:mm a", on(2020, 1, 2, 15, 4)),
        ("2020-01-02T03:04:05+02:00", "yyyy-MM-dd'T'HH:mm:ssXXX", on(2020, 1, 2, 1, 4, 5)),
        ("12", "HH", on(1970, 1, 1, 12)),
        ("20", "yy", on(2020, 1, 1)),
        ("99-01-01", "yy-MM-dd", on(2099, 1, 1)),
        ("20-01-01", "y-MM-dd", on(20, 1, 1)),
        ("020-01-01", "yyy-MM-dd", on(20, 1, 1)),
        ("2020-1-1", "yyyy-M-d", on(2020, 1, 1)),
        ("2020-01-01", "yyyy-M-d", on(2020, 1, 1)),
        ("2020 366", "yyyy DDD", on(2020, 12, 31)),
        ("2020 60", "yyyy D", on(2020, 2, 29)),
        ("12:30 AM", "h:mm a", on(1970, 1, 1, 0, 30)),
        ("12:30 pm", "hh:mm a", on(1970, 1, 1, 12, 30)),
        ("24:00", "kk:mm", on(1970, 1, 1)),
        ("0:10", "K:mm", on(1970, 1, 1, 0, 10)),
        ("PM", "a", on(1970, 1, 1, 12)),
        ("12", "hh", on(1970, 1, 1)),
        ("05.5", "ss.SSS", on(1970, 1, 1, 0, 0, 5, 500_000)),
        ("05.123456789", "ss.SSSSSSSSS", on(1970, 1, 1, 0, 0, 5, 123_456)),
        ("05", "ss[.SSS]", on(1970, 1, 1, 0, 0, 5)),
        ("05.1", "ss[.SSS]", on(1970, 1, 1, 0, 0, 5, 100_000)),
        ("2020-01-02 UTC", "yyyy-MM-dd z", on(2020, 1, 2)),
        ("2020-01-02 Europe/Paris", "yyyy-MM-dd VV", on(2020, 1, 1, 23)),
        ("2020-01-02 +01", "yyyy-MM-dd X", on(2020, 1, 1, 23)),
        ("2020-01-02 +0130", "yyyy-MM-dd XX", on(2020, 1, 1, 22, 30)),
        ("2020-01-02 +0100", "yyyy-MM-dd Z", on(2020, 1, 1, 23)),
        ("2020-01-02 GMT+1", "yyyy-MM-dd O", on(2020, 1, 1, 23)),
        ("2020-01-02 GMT+01:00", "yyyy-MM-dd OOOO", on(2020, 1, 1, 23)),
        ("2020-01-02 +01:00:00", "yyyy-MM-dd XXXXX", on(2020, 1, 1, 23)),
        ("2020-01-02T03:04:05Z", "yyyy-MM-dd'T'HH:mm:ss'Z'", on(2020, 1, 2, 3, 4, 5)),
        ("2020-01-02T03:04:05", "yyyy-MM-dd'T'HH:mm:ss[X]", on(2020, 1, 2, 3, 4, 5)),
        ("20200102030405", "yyyyMMddHHmmss", on(2020, 1, 2, 3, 4, 5)),
        ("AD 2020", "G yyyy", on(2020, 1, 1)),
        ("10:10 am 2020", "h:mm a yyyy", on(2020, 1, 1, 10, 10)),
        ("Jan", "LLL", on(1970, 1, 1)),
        (None, None),
        (None, "yyyy", None),
        ("20200102030405123", "yyyyMMddHHmmssSSS", UNREADABLE),
        ("12020-01-01", "yyyy-M-d", UNREADABLE),
        ("020-01-01", "yyyy-MM-dd", UNREADABLE),
        ("2021 366", "yyyy DDD", UNREADABLE),
        ("13:30 PM", "hh:mm a", UNREADABLE),
        ("24:00", "HH:mm", UNREADABLE),
        ("12:60", "HH:mm", UNREADABLE),
        ("05.", "ss.S", UNREADABLE),
        ("05.55", "ss.S", UNREADABLE),
        ("05", "ss.SSS", UNREADABLE),
        ("2020-01-02 Z", "yyyy-MM-dd xxx", UNREADABLE),
        ("2020-01-02 +1", "yyyy-MM-dd X", UNREADABLE),
        (" 2020-01-02", "yyyy-MM-dd", UNREADABLE),
        ("2020-01-02 ", "yyyy-MM-dd", UNREADABLE),
        ("2020  01", "yyyy MM", UNREADABLE),
        ("29 2", "dd M", UNREADABLE),
        ("\u0661", "d", UNREADABLE),
        ("2020", "yyyy-", UNREADABLE),
        ("2020-01-02 23:59:60", "yyyy-MM-dd HH:mm:ss", UNREADABLE),
        ("x", Fails("CAST_INVALID_INPUT")),
    ],
    "to_timestamp_ltz": [("2020-01-02 03:04:05", on(2020, 1, 2, 3, 4, 5))],
    "to_timestamp_ntz": [
        ("2020-01-02 03:04:05", datetime(2020, 1, 2, 3, 4, 5)),
        ("2020-01-02", "yyyy-MM-dd", datetime(2020, 1, 2)),
        ("2020-01-02 23:30 -0500", "yyyy-MM-dd HH:mm Z", datetime(2020, 1, 2, 23, 30)),
    ],
    "try_to_timestamp": [("x", "yyyy", None), ("x", None), ("2020", "yyyy", on(2020, 1, 1))],
    "unix_timestamp": [
        ("2020-01-02 03:04:05", 1577934245),
        ("2020-01-02", "yyyy-MM-dd", 1577923200),
        (date(2020, 1, 2), 1577923200),
        (on(1969, 12, 31, 23, 59, 59, 500_000), 0),
        (on(1969, 12, 31, 23, 59, 58, 500_000), -1),
        (datetime(2020, 1, 2, 3, 4, 5), 1577934245),
        ("03:04", "HH:mm", 11040),
        (None, None),
        ("2020-01-02", UNREADABLE),
    ],
    "to_unix_timestamp": [("2020", "yyyy", 1577836800)],
}


def bigint(table: Table) -> list[Case]:
    return [
        Case(
            case.name,
            case.arguments,
            case.answer if isinstance(case.answer, Fails) else Typed(case.answer, BIGINT),
        )
        if "unix_timestamp" in case.name
        else case
        for case in cases(table)
    ]


@pytest.mark.parametrize("case", [*cases(FORMATTING), *bigint(READING)], ids=str)
def test_datetimes_and_texts(case: Case) -> None:
    check(case)


OFFSETS = {
    "PST": "America/Los_Angeles GMT-8 -08:00",
    "+5:30": "+05:30 GMT+5:30 +05:30",
    "GMT-7": "GMT-07:00 GMT-7 -07:00",
    "-0": "Z GMT Z",
    "Etc/UTC": "Etc/UTC GMT Z",
    "+00:00:15": "+00:00:15 GMT+0:00:15 Z",
}


@pytest.mark.parametrize("zone", OFFSETS)
def test_a_zone_shows_by_its_java_name(zone: str) -> None:
    for case in cases({"date_format": [(on(2020, 1, 2, 3), "VV O XXX", OFFSETS[zone])]}, zone):
        check(case)


NEW_YORK = cases(
    {
        "date_format": [
            (on(2020, 7, 2, 3), "yyyy-MM-dd HH:mm", "2020-07-01 23:00"),
            (on(2020, 7, 2, 3), "VV O XXX Z", "America/New_York GMT-4 -04:00 -0400"),
            (on(1800, 1, 1), "HH:mm:ss XXXXX", "19:03:58 -04:56:02"),
        ],
        "to_timestamp": [
            ("2020-07-01 23:00", "yyyy-MM-dd HH:mm", on(2020, 7, 2, 3)),
            ("2020-07-01 23:00 Z", "yyyy-MM-dd HH:mm X", on(2020, 7, 1, 23)),
            ("2020-03-08 02:30:00", "yyyy-MM-dd HH:mm:ss", on(2020, 3, 8, 7, 30)),
        ],
        "to_date": [("2020-07-01 23:00 Z", "yyyy-MM-dd HH:mm X", date(2020, 7, 1))],
        "from_unixtime": [(0, "1969-12-31 19:00:00")],
        "unix_timestamp": [
            (date(2020, 1, 2), Typed(1577941200, BIGINT)),
            (datetime(2020, 1, 2), Typed(1577923200, BIGINT)),
        ],
    },
    "America/New_York",
)


@pytest.mark.parametrize("case", NEW_YORK)
def test_texts_show_the_session_zone(case: Case) -> None:
    check(case)


@pytest.mark.parametrize(
    "days, pattern, text",
    [
        (-735_000, "yyyy G y", "-0043 BC 44"),
        (3_670_000, "y yyyy yyyyy", "12018 +12018 12018"),
        (-735_000, "yyyy", "-0043"),
    ],
)
def test_years_beyond_those_of_python(days: int, pattern: str, text: str) -> None:
    moment = Moment(days * 86_400_000_000, 0, "UTC")
    expected = text if "G" not in pattern else "0044 BC 44"

    assert formatter(pattern)(moment) == expected


def test_years_beyond_those_of_python_are_read() -> None:
    assert parser("yyyy-MM-dd")("+12020-01-01").local == 317_147_356_800_000_000
    assert parser("G yyyy")("BC 0044").local == parser("yyyy")("-0043").local


def test_a_zone_has_names_in_standard_time_and_in_daylight_saving_time() -> None:
    hour = 3_600_000_000

    assert formatter("z zzzz")(Moment(0, -5 * hour, "America/New_York")) == "EST Eastern Standard Time"
    assert formatter("z v")(Moment(200 * 24 * hour, -4 * hour, "America/New_York")) == "EDT ET"


def test_names_of_zones_that_java_has_not_are_refused() -> None:
    with pytest.raises(NotSupportedError, match="America/Coyhaique"):
        formatter("z")(Moment(0, 0, "America/Coyhaique"))


def test_abbreviations_of_zones_are_not_read() -> None:
    with pytest.raises(NotSupportedError, match="PST"):
        parser("yyyy z")("2020 PST")
