"""The address of a cluster's next keeper, as members tell it to clients.

A client that shares neither folder nor store with the members can't see who has become the keeper, but is
connected with the members, which can."""

import threading
from collections import ChainMap
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import msgspec

from sqlfront_cluster.members.membership.keeper_connection import KeeperConnection, KeeperContact
from sqlfront_cluster.members.membership.membership import Membership
from sqlfront_cluster.members.questions.requests import RequestService
from sqlfront_values.errors import Error, OperationalError

#: The key of the service that tells where the keeper is.
KEEPER_PLACE: Final = "keeper place"
#: Seconds that a member's answer may take; the member may be the one that was lost with the keeper.
_TIMEOUT: Final = 0.4


class KeeperPlace(msgspec.Struct, frozen=True):
    """A member's answer: the ``address`` and the ``epoch`` of the keeper that it hears; an empty address if
    it hears none."""

    epoch: int = 0
    address: str = ""


class PlaceTeller(RequestService):
    """The service of a member that tells clients where the keeper is."""

    def __init__(self) -> None:
        #: The member's own connection with the keeper, None = not made yet.
        self.keeper: KeeperConnection | None = None

    def beside(self, resources: Mapping[str, object]) -> Mapping[str, object]:
        """Return the member's ``resources`` with this service."""
        return ChainMap({KEEPER_PLACE: self}, resources)  # type: ignore[arg-type]

    def answer(self, content: bytes) -> bytes:
        """Return where the keeper is."""
        keeper, told = self.keeper, KeeperPlace()
        if keeper is not None and keeper.contact() is KeeperContact.HEARD:
            told = KeeperPlace(keeper.epoch, keeper.place)
        return msgspec.json.encode(told)


class ToldKeeper:
    """The present keeper's address for a client that looks for its keeper: the address that ``locate`` finds,
    in turns with the one that members tell. Threads ask all members at once as long as the client looks."""

    def __init__(self, locate: Callable[[], str]) -> None:
        self._locate = locate
        #: The client's membership, None = not made yet.
        self.membership: Membership | None = None
        self._told = KeeperPlace()
        # Held while members are asked, and while an answer is taken.
        self._asking, self._taking = threading.Lock(), threading.Lock()
        self._turn = False

    def address(self) -> str:
        """Return the address at which to look next. Raises Error if none is known."""
        self._ask_soon()
        self._turn = not self._turn
        if self._told.address and not self._turn:
            return self._told.address
        return self._locate()

    def _ask_soon(self) -> None:
        if self.membership is not None and self._asking.acquire(blocking=False):
            _thread(self._ask).start()

    def _ask(self) -> None:
        try:
            names = tuple(self.membership.member.peers) if self.membership is not None else ()
            asking = [_thread(partial(self._ask_one, name)) for name in names]
            for thread in asking:
                thread.start()
            for thread in asking:
                thread.join()
        finally:
            self._asking.release()

    def _ask_one(self, name: str) -> None:
        told = self._answer_of(name)
        with self._taking:
            if told.address and told.epoch >= self._told.epoch:
                self._told = told

    def _answer_of(self, name: str) -> KeeperPlace:
        assert self.membership is not None
        member = self.membership.member
        try:
            wait = _Patience(member.engine.clock.now() + _TIMEOUT)
            answer = member.requests.ask(KEEPER_PLACE, {name: b""}, wait)[name]
            return msgspec.json.decode(answer, type=KeeperPlace)
        except (Error, msgspec.MsgspecError):  # lost, silent, or another client
            return KeeperPlace()


def _thread(target: Callable[[], None]) -> threading.Thread:
    return threading.Thread(target=target, name="sqlfront-keeper-told", daemon=True)


class _Patience:
    """A wait until the time ``deadline`` (s, the engine's clock)."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline

    def stopped(self, now: Callable[[], float]) -> Error | None:
        """Return an error once the time is over."""
        return OperationalError("no answer") if now() >= self._deadline else None
