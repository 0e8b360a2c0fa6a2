"""The handshake's steps, without sockets."""

import secrets
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from sqlfront_cluster.network.handshake import (
    Challenge,
    HandshakeFailed,
    Hello,
    Identity,
    MemberCredentials,
    Proof,
    Refused,
    Steps,
    accept,
    initiate,
    new_nonce,
)


def member(
    name: str, *, secret: bytes = b"secret", cluster: str = "c", product: str = "1.2.3"
) -> MemberCredentials:
    return MemberCredentials(Identity(name, cluster, product, secrets.token_bytes(16)), secret)


#: Replaces a message on its way.
Tamper = Callable[[msgspec.Struct], msgspec.Struct]


class Talk:
    """Two sides' steps, message by message; ``tamper`` may replace what one says."""

    def __init__(
        self, initiator: Steps[Any], acceptor: Steps[Any], tamper: Tamper = lambda message: message
    ) -> None:
        self.said: list[msgspec.Struct] = []
        self.outcomes: dict[str, Any] = {}
        inboxes: dict[str, list[Any]] = {"initiator": [], "acceptor": []}
        waiting = {"initiator": (initiator, None), "acceptor": (acceptor, None)}
        while waiting:
            moved = False
            for side, (steps, _) in list(waiting.items()):
                other = "acceptor" if side == "initiator" else "initiator"
                moved = self._step(side, other, steps, inboxes, waiting, tamper) or moved
            if not moved:  # the rest waits for what never comes: the end of the connection
                for side in waiting:
                    inboxes[side].append(None)

    def _step(
        self,
        side: str,
        other: str,
        steps: Steps[Any],
        inboxes: dict[str, list[Any]],
        waiting: dict[str, Any],
        tamper: Tamper,
    ) -> bool:
        heard = None
        if waiting[side][1] == "hearing":
            if not inboxes[side]:
                return False
            heard = inboxes[side].pop(0)
        try:
            message = steps.send(heard)
        except StopIteration as end:
            self.outcomes[side] = end.value
            del waiting[side]
        except HandshakeFailed as error:
            self.outcomes[side] = error.message
            del waiting[side]
        else:
            if message is not None:
                heard = tamper(message)
                self.said.append(heard)
                inboxes[other].append(heard)
            waiting[side] = (steps, "hearing" if message is None else None)
        return True


def talk(
    a: MemberCredentials,
    b: MemberCredentials,
    tamper: Tamper = lambda message: message,
    bindings: tuple[bytes, bytes] = (b"", b""),
) -> Talk:
    return Talk(initiate(a, new_nonce(), bindings[0]), accept(b, bindings[1], lambda *_: None), tamper)


def test_two_members_with_the_secret_learn_who_the_other_is() -> None:
    a, b = member("a"), member("b")
    met = talk(a, b)
    assert met.outcomes["initiator"] == b.identity
    assert isinstance(met.said[0], Hello)
    assert met.outcomes["acceptor"] == (met.said[0].nonce, a.identity)
    assert [type(message) for message in met.said] == [Hello, Challenge, Proof, Proof]


def test_the_accepting_side_proves_nothing_to_who_has_not() -> None:
    met = talk(member("a", secret=b"guessed"), member("b"))
    assert [type(message) for message in met.said] == [Hello, Challenge, Proof, Refused]
    assert "different secrets" in met.outcomes["initiator"]
    assert "another secret" in met.outcomes["acceptor"]


def test_a_false_member_is_found_out_by_who_connects() -> None:
    def forge(message: msgspec.Struct) -> msgspec.Struct:
        if isinstance(message, Proof) and message.identity.name == "b":
            return Proof(message.identity, bytes(32))
        return message

    met = talk(member("a"), member("b"), forge)
    assert met.outcomes["initiator"] == "the other side has another secret than this member"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"cluster": "d"}, "cluster"),
        ({"product": "1.3.0"}, "version"),
        ({"product": "2.2.3"}, "version"),
        ({"name": "a"}, "this member's name"),
    ],
)
def test_who_does_not_fit_is_refused_with_the_reason_on_both_sides(
    changes: dict[str, Any], reason: str
) -> None:
    met = talk(member("a"), member(**{"name": "b", **changes}))
    assert reason in met.outcomes["initiator"]
    assert reason in met.outcomes["acceptor"]


def test_patch_versions_may_differ() -> None:
    assert isinstance(talk(member("a"), member("b", product="1.2.9")).outcomes["initiator"], Identity)


def test_a_member_does_not_talk_to_itself() -> None:
    one = member("a")
    met = talk(one, one)
    assert met.outcomes["initiator"] == met.outcomes["acceptor"] == "the other side is this member itself"


def test_an_identity_cannot_be_changed_on_the_way() -> None:
    def rename(message: msgspec.Struct) -> msgspec.Struct:
        if isinstance(message, Proof):
            return Proof(msgspec.structs.replace(message.identity, name="evil"), message.code)
        return message

    met = talk(member("a"), member("b"), rename)
    assert "another secret" in met.outcomes["acceptor"]


def test_a_proof_sent_back_to_its_maker_is_worth_nothing() -> None:
    victim = member("a")
    steps = initiate(victim, new_nonce(), b"")
    hello = steps.send(None)
    assert isinstance(hello, Hello)
    next(steps)
    proof = steps.send(Challenge(hello.nonce))
    next(steps)
    with pytest.raises(HandshakeFailed):
        steps.throw(HandshakeFailed("unreachable")) if steps.send(proof) is None else next(steps)


def test_a_recorded_proof_does_not_serve_again() -> None:
    a, b = member("a"), member("b")
    recorded = talk(a, b).said
    steps = accept(b, b"", lambda *_: None)
    next(steps)
    assert isinstance(steps.send(recorded[0]), Challenge)
    next(steps)
    assert steps.send(recorded[2]) == Refused()


def test_somebody_between_two_tls_connections_is_found_out() -> None:
    met = talk(member("a"), member("b"), bindings=(b"the certificate in between", b"the true certificate"))
    assert "another secret" in met.outcomes["acceptor"]


@pytest.mark.parametrize("at", range(4))
def test_what_comes_out_of_turn_ends_the_handshake(at: int) -> None:
    for wrong in (Hello(bytes(32)), Refused(), None):
        said: list[msgspec.Struct] = []

        def replace_one(
            message: msgspec.Struct, wrong: msgspec.Struct | None = wrong, said: list[msgspec.Struct] = said
        ) -> msgspec.Struct:
            said.append(message)
            return wrong if len(said) == at + 1 and wrong is not None else message

        met = talk(member("a"), member("b"), replace_one)
        assert len(met.outcomes) == 2


def test_the_secret_is_not_shown() -> None:
    shown = repr(replace(member("a"), secret=b"hidden"))
    assert "hidden" not in shown
