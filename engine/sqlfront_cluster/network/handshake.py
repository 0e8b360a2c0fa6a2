"""The handshake: both members prove that they know the cluster's secret, and state their identities.

The steps, with I the connecting member (initiator) and A the accepting member::

    I -> A   Hello      a fresh random number
    I <- A   Challenge  another one
    I -> A   Proof      I's identity and a code over everything so far
    I <- A   Proof      A's identity and a code over everything so far

The codes are HMAC-SHA256 under the secret over: the protocol's version, the role of the prover (so that no
code can be sent back to its maker), both numbers (so that no code serves twice), the hashes of both TLS
certificates in use (against a man in the middle with any certificates), and the identities. The accepting
member, which anyone can reach, proves itself only after the initiator has. Until then it sends nothing but a
refusal without a reason; differences of version or cluster are found by each member itself, later. Without
TLS, nothing protects an established connection from an attacker who can alter traffic.

The steps are generators independent of sockets: a generator yields a message to send, or None to be resumed
with the next received message.
"""

import hmac
import secrets
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Annotated, Final, Protocol, TypeAlias, TypeVar

import msgspec

from sqlfront_cluster.network.frames import PROTOCOL_VERSION
from sqlfront_values.errors import OperationalError

#: Bytes of a nonce: as many as SHA-256 has, so that no nonce ever repeats.
NONCE_SIZE: Final = 32

_Nonce: TypeAlias = Annotated[bytes, msgspec.Meta(min_length=NONCE_SIZE, max_length=NONCE_SIZE)]
_Name: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=255)]


class Identity(msgspec.Struct, frozen=True):
    """The identity that a member states in the handshake: its name, the name of its cluster, the version of
    sqlfront, and a random number (``incarnation``) that distinguishes the member from earlier members of the
    same name."""

    name: _Name
    cluster: _Name
    product: _Name
    incarnation: Annotated[bytes, msgspec.Meta(min_length=16, max_length=16)]


class Hello(msgspec.Struct, frozen=True, tag=True):
    """The connecting member's random number, which is also the connection's id."""

    nonce: _Nonce


class Challenge(msgspec.Struct, frozen=True, tag=True):
    """The accepting member's random number."""

    nonce: _Nonce


class Proof(msgspec.Struct, frozen=True, tag=True):
    """The sender's identity, and the code that proves knowledge of the secret."""

    identity: Identity
    code: _Nonce


class Refused(msgspec.Struct, frozen=True, tag=True):
    """The sender refuses the receiver of this message. As the answer to the receiver's :class:`Proof`: the
    proof is wrong. Before any proof: the receiver's encryption, or its version of the protocol, isn't the
    sender's."""


class ConnectionVerdict(msgspec.Struct, frozen=True, tag=True):
    """The decision of one member whether to use this connection, so that a pair of members uses only one.
    ``instead``: None = use this one; otherwise the id of another connection between the two members, which is
    used or being made, and is to be used in its place."""

    instead: _Nonce | None


class Settled(msgspec.Struct, frozen=True, tag=True):
    """The agreement at the end of a handshake: the sender uses this connection from now on."""


class Goodbye(msgspec.Struct, frozen=True, tag=True):
    """The reason why the sender closes the connection; the only message between transports (not members) that
    may follow ``Settled``."""

    reason: str


Control: TypeAlias = Hello | Challenge | Proof | Refused | ConnectionVerdict | Settled | Goodbye
CONTROL_TYPES: Final = (Hello, Challenge, Proof, Refused, ConnectionVerdict, Settled, Goodbye)

_Result = TypeVar("_Result")
#: A generator of the handshake's steps: yields a message to send, or None for the next received message;
#: returns its result.
Steps: TypeAlias = Generator[Control | None, msgspec.Struct | None, _Result]


class HandshakeFailed(OperationalError):
    """The failure of a handshake; the text has the reason, for the log of the member that raises the
    error."""


class UnrelatedPeer(HandshakeFailed):
    """The failure of a handshake with a peer that can never belong to this member's cluster, also not at a
    later try."""


@dataclass(frozen=True, slots=True)
class MemberCredentials:
    """The credentials with which a member takes part in handshakes: its identity, and the cluster's
    secret."""

    identity: Identity
    secret: bytes

    def __repr__(self) -> str:
        return f"Credentials({self.identity!r})"

    def code(self, side: str, *told: object) -> bytes:
        """Return the code by which one ``side`` of a handshake ("initiator" or "acceptor") proves that it
        knows the secret: the HMAC-SHA256 over the protocol's version, the side, and ``told``, the values that
        both sides have exchanged so far."""
        text = msgspec.msgpack.encode(("sqlfront", PROTOCOL_VERSION, side, told))
        return hmac.digest(self.secret, text, "sha256")


def new_nonce() -> bytes:
    """Return a random number of :data:`NONCE_SIZE` bytes, unguessable and never repeated."""
    return secrets.token_bytes(NONCE_SIZE)


def initiate(mine: MemberCredentials, nonce: bytes, binding: bytes) -> Steps[Identity]:
    """Return the steps of a handshake for the member that connects, a generator that :func:`perform` runs;
    their result is the peer's identity. ``mine``: this member's credentials. ``nonce``: a random number,
    which becomes the connection's id. ``binding``: the hashes of the TLS certificates in use. The steps
    raise HandshakeFailed."""
    yield Hello(nonce)
    answer = yield None
    if isinstance(answer, Refused):
        raise UnrelatedPeer("the other side speaks TLS, and this side is insecure")
    challenge = expect(Challenge, answer)
    told = (nonce, challenge.nonce, binding, mine.identity)
    yield Proof(mine.identity, mine.code("initiator", *told))
    answer = yield None
    if isinstance(answer, Refused):
        raise UnrelatedPeer("the other side rejects this member's proof: the two have different secrets")
    proof = expect(Proof, answer)
    if not hmac.compare_digest(proof.code, mine.code("acceptor", *told, proof.identity)):
        yield Refused()
        raise UnrelatedPeer("the other side has another secret than this member")
    check_identity(mine.identity, proof.identity)
    return proof.identity


def accept(
    mine: MemberCredentials, binding: bytes, proven: Callable[[bytes, Identity], None]
) -> Steps[tuple[bytes, Identity]]:
    """Return the steps of a handshake for the member that accepts a connection, a generator that
    :func:`perform` runs; their result is the connection's id and the peer's identity. ``mine``: this
    member's credentials. ``binding``: the hashes of the TLS certificates in use. ``proven``: called with the
    id and the identity before the peer can know that it is accepted. The steps raise HandshakeFailed."""
    hello = expect(Hello, (yield None))
    nonce = new_nonce()
    yield Challenge(nonce)
    answer = yield None
    if isinstance(answer, Refused):
        raise HandshakeFailed("the other side refuses this member")
    proof = expect(Proof, answer)
    told = (hello.nonce, nonce, binding, proof.identity)
    if not hmac.compare_digest(proof.code, mine.code("initiator", *told)):
        yield Refused()
        raise UnrelatedPeer("the other side has another secret than this member")
    proven(hello.nonce, proof.identity)
    yield Proof(mine.identity, mine.code("acceptor", *told, mine.identity))
    check_identity(mine.identity, proof.identity)
    return hello.nonce, proof.identity


def check_identity(mine: Identity, theirs: Identity) -> None:
    """Raise HandshakeFailed if ``theirs``, the identity of a peer that knows the secret, doesn't fit: the
    peer is this member itself, or has this member's name, or has another cluster or another release of
    sqlfront. Both members come to the same result."""
    if theirs.incarnation == mine.incarnation:
        raise HandshakeFailed("the other side is this member itself")
    if theirs.cluster != mine.cluster:
        raise UnrelatedPeer(
            f"the other side belongs to cluster {theirs.cluster!r}, this member to {mine.cluster!r}"
        )
    if theirs.name == mine.name:
        raise HandshakeFailed(f"the other side has this member's name, {mine.name!r}")
    if _release(theirs.product) != _release(mine.product):
        raise UnrelatedPeer(
            f"the other side runs version {theirs.product}, this member {mine.product}; "
            f"the members of a cluster must agree in the first two numbers"
        )


def _release(version: str) -> list[str]:
    return version.split(".")[:2]


_Expected = TypeVar("_Expected", bound=msgspec.Struct)


def expect(expected: type[_Expected], message: msgspec.Struct | None) -> _Expected:
    """Return ``message`` if it has the type ``expected``. Otherwise raise HandshakeFailed, for a Goodbye with
    the peer's reason. ``message`` None means that the connection has ended."""
    if isinstance(message, expected):
        return message
    if message is None:
        raise HandshakeFailed("the other side closed the connection in the middle of the handshake")
    if isinstance(message, Goodbye):
        raise HandshakeFailed(message.reason)
    raise HandshakeFailed(f"the other side sent {type(message).__name__} instead of {expected.__name__}")


class Conversation(Protocol):
    """The methods of a connection that :func:`perform` needs."""

    def tell(self, message: Control) -> None:
        """Send a control message, which is for the peer's transport and not for the member that uses it, and
        wait until the network has accepted the message."""

    def hear(self) -> msgspec.Struct | None:
        """Wait for the next message and return it; None at the end of the connection."""


def perform(steps: Steps[_Result], connection: Conversation) -> _Result:
    """Run the steps of a handshake over a connection: send each message that the steps yield, and receive a
    message when they yield None. Returns the result of the steps, and raises their errors."""
    heard: msgspec.Struct | None = None
    while True:
        try:
            message = steps.send(heard)
        except StopIteration as end:
            result: _Result = end.value
            return result
        heard = None
        if message is None:
            heard = connection.hear()
        else:
            connection.tell(message)
