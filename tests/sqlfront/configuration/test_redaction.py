"""Secrets in URLs: in no place of any URL, well-formed or not, do they reach a text that is shown."""

import random
from collections.abc import Iterator
from urllib.parse import quote

import pytest

import sqlfront
from sqlfront.configuration.connecting import resolve
from sqlfront.configuration.redaction import without_secrets
from sqlfront_values.errors import Error

SPECIAL = "/?#@%&=:;+ \\\"'<>[]{}|^`~.,!$*()\t\n\0é漢%2F%40"
#: Parts of every secret: nothing of these may be shown.
MARKS = ("qxz1", "wvk2", "zjq3")
SCHEMES = ("sqlfront:", "sqlfront:", "sqlfront+cluster:", "postgres:", "SQLFRONT:", "sqlfront:/", "sc:")
OTHERS = ("timeout=5", "members=3", "insecure", "speed=9", "members=3", "", "key=a")
NAMES = ("secret", "secret", "%73ecret", "Secret", "password", "secrte", "credentials#")


def secrets(chance: random.Random) -> Iterator[str]:
    """Secrets with special characters between their marks."""
    while True:
        gaps = ["".join(chance.choices(SPECIAL, k=chance.randint(0, 3))) for _ in range(4)]
        yield gaps[0] + "".join(mark + gap for mark, gap in zip(MARKS, gaps[1:], strict=True))


def urls(chance: random.Random) -> Iterator[str]:
    """URLs with a secret as password or as option, raw or encoded, some of them damaged elsewhere."""
    for secret in secrets(chance):
        written = quote(secret, safe="") if chance.random() < 0.4 else secret
        scheme = chance.choice(
            ["sqlfront:", "sqlfront+cluster:", "postgres:", "SQLFRONT:", "sqlfront:/", "sc:"]
        )
        slashes = chance.choice(["//", "//", "//", "///", ""])
        host = chance.choice(["db:4711", "[::1]:4711", "db", "", "db:port", "/run/socket", "a@b"])
        others = chance.sample(
            ["timeout=5", "members=3", "insecure", "speed=9", "members=3", "", "key=a"], k=2
        )
        if chance.random() < 0.5:
            user = chance.choice(["", "ada", "ada"])
            query = "?" + "&".join(others) if chance.random() < 0.5 else ""
            yield f"{scheme}{slashes}{user}:{written}@{host}{query}"
        else:
            name = chance.choice(
                ["secret", "secret", "%73ecret", "Secret", "password", "secrte", "credentials#"]
            )
            options = [*others, f"{name}={written}"]
            chance.shuffle(options)
            yield f"{scheme}{slashes}{host}?{'&'.join(options)}"


def shown_marks(text: str) -> list[str]:
    """The marks that the text shows."""
    return [mark for mark in MARKS if mark in text]


def test_no_part_of_a_secret_is_shown() -> None:
    chance = random.Random(18)
    stream = urls(chance)
    for _ in range(4000):
        url = next(stream)
        assert shown_marks(without_secrets(url)) == [], url


def test_no_part_of_a_secret_is_in_an_error_or_a_repr() -> None:
    chance = random.Random(19)
    stream = urls(chance)
    outcomes = {"resolved": 0, "refused": 0}
    for _ in range(3000):
        url = next(stream)
        try:
            resolved = resolve(url, {}, environment={})
        except Error as error:
            outcomes["refused"] += 1
            shown = f"{error} {error!r} {error.__cause__}"
        else:
            outcomes["resolved"] += 1
            shown = f"{resolved!r} {resolved.config.cluster}"
        assert shown_marks(shown) == [], f"{url}: {shown}"
    assert min(outcomes.values()) > 10, outcomes


def test_a_configuration_with_such_an_address_shows_none() -> None:
    chance = random.Random(20)
    stream = urls(chance)
    for _ in range(500):
        url = next(stream)
        assert shown_marks(repr(sqlfront.Config(cluster=url))) == [], url


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sqlfront://db:4711?timeout=5", "sqlfront://db:4711?timeout=5"),
        ("sqlfront:///data/flights?members=3", "sqlfront:///data/flights?members=3"),
        ("sqlfront:", "sqlfront:"),
        ("sqlfront://[::1]:4711", "sqlfront://[::1]:4711"),
        ("sqlfront://:s@db:4711?timeout=5", "sqlfront://***@db:4711?timeout=5"),
        ("sqlfront://db:1?secret=s&timeout=5", "sqlfront://db:1?secret=***"),
        ("sqlfront://db:1?timeout=5&token=s", "sqlfront://db:1?timeout=5&***"),
        ("sqlfront:?spark=sc://host:15002/;token=s", "sqlfront:?spark=***"),
        ("flights", "flights"),
    ],
)
def test_the_harmless_parts_stay(url: str, shown: str) -> None:
    assert without_secrets(url) == shown
