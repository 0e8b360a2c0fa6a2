"""What strangers and misbehaving members send to a running member process: the connection is closed, a line
is logged for each such member, but only one for all strangers, and the member goes on."""

import random
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TypeAlias

import pyarrow as pa
import pytest

from sqlfront_cluster import codec
from sqlfront_cluster.codec.placements import encode_placement
from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_cluster.launchers.running import Resources, RunningMember, network_settings
from sqlfront_cluster.members.protocol.cluster_messages import MESSAGES
from sqlfront_cluster.members.protocol.messages import Answer, Data, Init, Request
from sqlfront_cluster.members.questions.requests import RequestService
from sqlfront_cluster.network.frames import HEADER, FrameKind, encode_frame
from sqlfront_cluster.network.handshake import Hello
from sqlfront_cluster.network.tcp import TcpTransport
from sqlfront_cluster.network.tls.security import Security
from sqlfront_engine.dag import DAG, Edge, OnlyOn
from sqlfront_engine.plans.placement import Placement
from sqlfront_engine.processors.forward import Forward
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_values.settings import Settings
from tests.cluster.launchers.test_local import EVERYTHING, PRELOAD, exchanged, rows, until
from tests.cluster.members.probe import ask
from tests.cluster.network.meeting import Member, Note
from tests.engine.jobs import Numbers

# One worker starts the members.
pytestmark = pytest.mark.xdist_group("hostile input")

TARGET = "local-0"
ECHO = "echo"
Traitor: TypeAlias = tuple[Member, socket.socket]
OneLine: TypeAlias = Callable[[str], None]


class Town:
    """Two members in processes of their own, and a client."""

    def __init__(self, cluster: LocalCluster, client: RunningMember) -> None:
        self.cluster, self.client = cluster, client
        self.address = next(each.address for each in cluster.members.members if each.name == TARGET)

    def log(self) -> list[str]:
        """The target's log, but for members that come and go as they should."""
        return self.cluster.log(TARGET).splitlines()

    def still_there(self) -> None:
        """The member works on."""
        assert self.cluster.processes[TARGET].poll() is None
        assert rows(self.client.member.submit(exchanged())) == EVERYTHING


class Echo(RequestService):
    """Gives back the text that it is asked."""

    def answer(self, content: bytes) -> bytes:
        return content.decode().encode()


def echo() -> Resources:
    """What the members of these tests do beside jobs."""
    return Resources({ECHO: Echo()})


@pytest.fixture(scope="module")
def town() -> Iterator[Town]:
    preload = (*PRELOAD, "tests.cluster.members.probe")
    service = f"{__name__}:echo"
    with (
        LocalCluster(2, workers=1, tcp=True, preload=preload, service=service, insecure=True) as cluster,
        cluster.client() as client,
    ):
        yield Town(cluster, client)


@pytest.fixture(autouse=True)
def one_line(town: Town, request: pytest.FixtureRequest) -> Iterator[OneLine]:
    """Asserts that the target has logged one line more, which gives the reason."""
    before = len(town.log())

    def logged(reason: str) -> None:
        until(lambda: len(town.log()) > before)
        town.still_there()
        (line,) = town.log()[before:]
        assert reason in line

    yield logged
    town.still_there()


def joined(frame: object) -> bytes:
    return b"".join(map(bytes, frame.parts))  # type: ignore[attr-defined]


def connected(address: str) -> socket.socket:
    host, port = address.split(":")
    return socket.create_connection((host, int(port)), 10)


def heard(connection: socket.socket) -> bytes:
    """All until the member ends the connection."""
    data = b""
    with suppress(ConnectionError):
        while piece := connection.recv(65536):
            data += piece
    return data


# ---- strangers


def test_what_is_no_handshake(town: Town) -> None:
    before = len(town.log())
    for data in (
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        random.Random(1).randbytes(5000),
        HEADER.pack(b"sf", 1, FrameKind.CONTROL, 1 << 31, 0),
        HEADER.pack(b"sf", 1, FrameKind.MESSAGE, 10, 0) + bytes(10),
        HEADER.pack(b"sf", 1, 77, 10, 0) + bytes(10),
        HEADER.pack(b"sf", 1, FrameKind.CONTROL, 3, 0) + b"abc",
        joined(encode_frame(FrameKind.CONTROL, Hello(bytes(32))))[:-5],
    ):
        with connected(town.address) as stranger:
            stranger.sendall(data)
            stranger.shutdown(socket.SHUT_WR)
            heard(stranger)
    town.still_there()
    assert len(town.log()) <= before + 1


def test_a_wrong_secret(town: Town) -> None:
    transport = TcpTransport(network_settings(Security(b"a guess", insecure=True)), MESSAGES, name="stranger")
    member = Member()
    transport.start(member)
    transport.connect(town.address)
    assert "different secrets" in member.lost(town.address)
    transport.close()
    town.still_there()


# ---- members that misbehave


@pytest.fixture
def traitor(town: Town) -> Iterator[Traitor]:
    """Knows the secret and is connected with the target; its socket for what no transport would send."""
    transport = TcpTransport(network_settings(town.cluster.security), MESSAGES, name="traitor")
    member = Member()
    transport.start(member)
    transport.connect(town.address)
    peer = member.peer(TARGET)
    yield member, peer.channel.socket
    transport.close()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (random.Random(2).randbytes(5000), "don't begin a frame"),
        (HEADER.pack(b"sf", 1, FrameKind.MESSAGE, 1 << 31, 0), "the limits are"),
        (HEADER.pack(b"sf", 1, FrameKind.MESSAGE, 10, 1 << 60), "limits are"),
        (HEADER.pack(b"sf", 1, FrameKind.MESSAGE, 10, 0) + b"0123456789", "a malformed message"),
        (HEADER.pack(b"sf", 1, 9, 10, 0), "kind 9"),
        (joined(encode_frame(FrameKind.MESSAGE, Note(1))), "a malformed message"),
    ],
    ids=["random", "oversized", "oversized-body", "no-message", "kind", "unknown-message"],
)
def test_a_member_that_sends_nonsense(
    town: Town,
    traitor: Traitor,
    one_line: OneLine,
    data: bytes,
    reason: str,
) -> None:
    member, connection = traitor
    connection.sendall(data)
    assert reason in member.lost(TARGET)
    one_line(reason)


def test_a_truncated_frame_of_a_member(town: Town, traitor: Traitor, one_line: OneLine) -> None:
    member, connection = traitor
    connection.sendall(joined(encode_frame(FrameKind.MESSAGE, Data(1, 0), (bytes(100),)))[:-10])
    connection.shutdown(socket.SHUT_WR)
    member.lost(TARGET)
    one_line("the connection ended within a frame")


@pytest.mark.parametrize(
    "body", [b"", random.Random(3).randbytes(400), bytes(64)], ids=["empty", "random", "zeros"]
)
def test_a_body_that_does_not_match_its_schema(
    town: Town, traitor: Traitor, one_line: OneLine, body: bytes
) -> None:
    member, _ = traitor
    dag = DAG()
    source = dag.vertex("numbers", Numbers(10), 1, OnlyOn("traitor"))
    between = dag.vertex("between", Forward(), 1, OnlyOn(TARGET))
    dag.edge(Edge.between(source, between).partitioned([0]).distribute_to(TARGET))
    dag.edge(Edge.between(between, dag.vertex("result", ResultSink())).to_one().distribute_to("traitor"))
    dag.lock()
    version = town.cluster.members.version
    placement = Placement("traitor", (TARGET,), (tuple(range(271)),))
    # Another job each time: an Init of a job that has ended is answered as before.
    peer, job = member.peer(TARGET), 77 + len(body)
    peer.send(Init(job, version, codec.encode_dag(dag), encode_placement(placement), Settings(), 271))
    schema = pa.schema([("n", pa.int64())]).serialize().to_pybytes()
    peer.send(Data(job, 0, schema=schema), (body,) if body else ())
    assert "malformed batch" in member.lost(TARGET)
    one_line("malformed batch")


# ---- questions that make no sense


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (lambda version: Request(1, version, "no such service", b""), "no service 'no such service'"),
        (lambda version: Request(2, version, "", b"x" * 100_000), "no service ''"),
        (lambda version: Request(4, -1, ECHO, b""), "the cluster has changed"),
        (lambda version: Request(5, version, ECHO, random.Random(5).randbytes(1000)), "UnicodeDecodeError"),
    ],
    ids=["no-service", "empty", "past", "random"],
)
def test_a_question_that_makes_no_sense_is_answered_with_an_error(
    town: Town, traitor: Traitor, request_: Callable[[int], Request], reason: str
) -> None:
    member, _ = traitor
    request = request_(town.cluster.members.version)
    member.peer(TARGET).send(request)
    member.wait(lambda member: member.messages)
    (_, answer, _), *_ = member.messages
    assert isinstance(answer, Answer)
    assert answer.request == request.request
    assert answer.error is not None
    assert reason in answer.error.message


def test_answers_that_nobody_waits_for_are_dropped(town: Town, traitor: Traitor) -> None:
    member, _ = traitor
    for number in range(100):
        member.peer(TARGET).send(Answer(number, b"unasked"), (bytes(10),))
    member.peer(TARGET).send(Request(1, town.cluster.members.version, ECHO, b"still there?"))
    member.wait(lambda member: member.messages)
    assert member.messages[0][1] == Answer(1, b"still there?")


# ---- many


def test_a_thousand_mutated_frames_leave_nothing_behind(town: Town) -> None:
    seed = random.Random(4)
    valid = [
        joined(encode_frame(FrameKind.CONTROL, Hello(bytes(32)))),
        joined(encode_frame(FrameKind.MESSAGE, Note(1))),
        joined(encode_frame(FrameKind.MESSAGE, Request(1, 1, "memory:store", b"what?"))),
        joined(encode_frame(FrameKind.MESSAGE, Answer(1, b"so"))),
    ]
    before = ask(town.client.member)[TARGET]
    for _ in range(1000):
        data = bytearray(b"".join(seed.choices(valid, k=3)))
        for _ in range(seed.randint(1, 5)):
            data[seed.randrange(len(data))] = seed.randrange(256)
        with connected(town.address) as stranger, suppress(ConnectionError):
            stranger.sendall(data)
            stranger.shutdown(socket.SHUT_WR)
            heard(stranger)
    until(lambda: ask(town.client.member)[TARGET].descriptors <= before.descriptors)
    after = ask(town.client.member)[TARGET]
    assert len(after.threads) <= len(before.threads) + 1
    assert after.resident < before.resident + (16 << 20)
