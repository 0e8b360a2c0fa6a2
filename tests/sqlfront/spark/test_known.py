"""What is known of a Spark session while it changes: a stand-in for the link tells of changes at chosen
moments."""

from collections.abc import Callable, Mapping
from typing import cast

import pytest

from sqlfront.spark.known import SparkNameCache
from sqlfront_connectors.spark.link import SparkLink


class FakeLink:
    """Stands for a link. ``asked`` is called whenever views are asked for, before they are told."""

    def __init__(self) -> None:
        self.views_now: tuple[str, ...] = ()
        self.given = {"spark.sql.ansi.enabled": "true", "spark.sql.caseSensitive": "false"}
        self.asked: list[Callable[[], None]] = []
        self.tell: Callable[[], None]

    def watch(self, callback: Callable[[], None]) -> None:
        self.tell = callback

    def setting(self, key: str) -> str:
        return self.given.get(key, "UTC")

    @property
    def database(self) -> tuple[str, str]:
        return "spark_catalog", "default"

    def settings(self, defaults: Mapping[str, str]) -> dict[str, str]:
        return {key: self.given.get(key, default) for key, default in defaults.items()}

    @property
    def views(self) -> tuple[str, ...]:
        found = self.views_now
        if self.asked:
            self.asked.pop()()
        return found


@pytest.fixture
def link() -> FakeLink:
    return FakeLink()


@pytest.fixture
def known(link: FakeLink) -> SparkNameCache:
    """What is known of it, when nothing has changed."""
    known = SparkNameCache(cast("SparkLink", link))
    known.settle(lambda: None)
    return known


def test_a_change_isn_t_over_before_it_was_looked_after(link: FakeLink, known: SparkNameCache) -> None:
    assert not known.is_outdated
    link.tell()
    during = list[bool]()
    known.settle(lambda: during.append(known.is_outdated))
    assert during == [True]  # so that other statements wait
    assert not known.is_outdated


def test_a_change_is_looked_after_once(link: FakeLink, known: SparkNameCache) -> None:
    times = list[None]()
    link.tell()
    for _ in range(2):
        known.settle(lambda: times.append(None))
    assert len(times) == 1


def test_what_changes_meanwhile_is_for_the_next(link: FakeLink, known: SparkNameCache) -> None:
    link.tell()
    known.settle(link.tell)
    assert known.is_outdated


def test_what_fails_is_tried_again(link: FakeLink, known: SparkNameCache) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    link.tell()
    with pytest.raises(ZeroDivisionError):
        known.settle(fail)
    assert known.is_outdated


def test_names_that_were_asked_for_before_a_change_aren_t_kept_after_it(
    link: FakeLink, known: SparkNameCache
) -> None:
    def change() -> None:
        link.views_now = ("late",)
        link.tell()
        known.settle(lambda: None)

    link.asked.append(change)
    assert not known.has_view("late")  # that is what the session said
    assert known.has_view("LATE")


@pytest.mark.parametrize(
    ("key", "value"), [("spark.sql.caseSensitive", "true"), ("spark.sql.timestampType", "TIMESTAMP_NTZ")]
)
def test_settings_that_decide_about_answers(
    link: FakeLink, known: SparkNameCache, key: str, value: str
) -> None:
    link.given[key] = value
    known.settle(lambda: None)
    assert known.other_answers is None  # nobody was told
    link.tell()
    known.settle(lambda: None)
    assert [known.other_answers] == [f"{key} is {value}"]
