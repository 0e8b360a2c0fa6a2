"""Refused connections are logged by count, not by line."""

import pytest

from sqlfront_cluster.network.refusals import Refusals


def test_the_first_is_logged_at_once_and_a_thousand_more_by_their_number(
    caplog: pytest.LogCaptureFixture,
) -> None:
    now = 100.0
    refusals = Refusals("m", period=60.0, now=lambda: now)
    told = [refusals.add("1.2.3.4:5", "it speaks\nnonsense") for _ in range(1001)]
    assert caplog.messages == ["member m refused a connection from 1.2.3.4:5: it speaks\\nnonsense"]
    assert told == [False, True, *[False] * 999]
    assert refusals.tell() == 60.0

    now += 60.0
    assert refusals.tell() is None
    assert caplog.messages[1:] == [
        "member m refused 1000 connections, the last one from 1.2.3.4:5: it speaks\\nnonsense"
    ]
    assert refusals.total == 1001
