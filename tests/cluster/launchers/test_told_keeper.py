"""Members tell a client where the next keeper is."""

import threading
from collections.abc import Mapping
from types import SimpleNamespace
from typing import cast

import msgspec

from sqlfront_cluster.launchers.told_keeper import KeeperPlace, ToldKeeper
from sqlfront_cluster.members.membership.membership import Membership
from sqlfront_cluster.members.questions.requests import Wait
from sqlfront_engine.scheduler import SystemClock
from sqlfront_values.errors import OperationalError
from tests.cluster.launchers.test_local import until


class Asked:
    """Requests to members of which those called "stopped" don't answer until the end."""

    def __init__(self) -> None:
        self.end = threading.Event()

    def ask(self, service: str, questions: Mapping[str, bytes], wait: Wait) -> dict[str, bytes]:
        (name,) = questions
        if name.startswith("stopped"):
            self.end.wait(30)
            raise OperationalError("no answer")
        return {name: msgspec.json.encode(KeeperPlace(2, f"unix:/{name}"))}


def test_members_that_are_stopped_hold_up_no_answer_of_others() -> None:
    """They were asked one after the other, and each took its time."""
    asked = Asked()
    names = dict.fromkeys(["stopped-1", "stopped-2", "m1", "stopped-3"])
    member = SimpleNamespace(peers=names, requests=asked, engine=SimpleNamespace(clock=SystemClock()))
    told = ToldKeeper(lambda: "unix:/former")
    told.membership = cast("Membership", SimpleNamespace(member=member))
    try:
        until(lambda: told.address() == "unix:/m1", 20)
    finally:
        asked.end.set()
