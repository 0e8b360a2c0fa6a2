"""What a message costs between two processes: round trips, and bytes a second.

Run ``python -m benchmarks.network``. Each way to talk gets an echo server in a process of its own and, in
turn, the same questions: a small message there and back, and bodies of several sizes there, with a small
answer back. Medians of one run; the ways take turns, so that what else the machine does hits all alike.
"""

import argparse
import asyncio
import multiprocessing
import socket
import statistics
import struct
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from threading import Lock, Thread

import msgspec
import pyarrow as pa

from sqlfront_cluster.network.loopback import LoopbackNetwork
from sqlfront_cluster.network.tcp import NetworkSettings, TcpTransport
from sqlfront_cluster.network.transport import Body, Peer, Transport

SIZES = (64 << 10, 1 << 20, 8 << 20)
_LENGTH = struct.Struct(">Q")

#: Sends the bytes to the server and waits for the small answer.
Ask = Callable[[bytes], object]


class Question(msgspec.Struct, frozen=True, tag=True):
    """A message as small as an acknowledgement."""

    number: int


# ---- bare sockets, blocking


def _receive(connection: socket.socket) -> int:
    """Receive a length and as many bytes; return the length, 0 at the end."""
    head = connection.recv(8, socket.MSG_WAITALL)
    if len(head) < 8:
        return 0
    body = pa.allocate_buffer(_LENGTH.unpack(head)[0])
    connection.recv_into(memoryview(body), 0, socket.MSG_WAITALL)
    return len(body)


def serve_sockets(connection: socket.socket) -> None:
    while _receive(connection):
        connection.sendall(_LENGTH.pack(1) + b"!")


def ask_socket(connection: socket.socket) -> Ask:
    def ask(body: bytes) -> None:
        total, sent = len(body) + 8, connection.sendmsg([_LENGTH.pack(len(body)), body])
        if sent < total:
            connection.sendall(memoryview(body)[sent - 8 :])
        _receive(connection)

    return ask


# ---- asyncio streams


async def serve_asyncio(connection: socket.socket) -> None:
    reader, writer = await asyncio.open_connection(sock=connection)
    try:
        while True:
            (size,) = _LENGTH.unpack(await reader.readexactly(8))
            await reader.readexactly(size)
            writer.write(_LENGTH.pack(1) + b"!")
            await writer.drain()
    except asyncio.IncompleteReadError:
        writer.close()


def ask_asyncio(connection: socket.socket) -> Ask:
    loop = asyncio.new_event_loop()
    reader, writer = loop.run_until_complete(asyncio.open_connection(sock=connection))

    async def exchange(body: bytes) -> None:
        writer.write(_LENGTH.pack(len(body)))
        writer.write(body)
        await writer.drain()
        (size,) = _LENGTH.unpack(await reader.readexactly(8))
        await reader.readexactly(size)

    return lambda body: loop.run_until_complete(exchange(body))


# ---- multiprocessing.connection


def serve_multiprocessing(connection: Connection) -> None:
    try:
        while True:
            connection.recv_bytes()
            connection.send_bytes(b"!")
    except EOFError:
        return


def ask_multiprocessing(address: str) -> Ask:
    connection = Client(address, "AF_UNIX")

    def ask(body: bytes) -> None:
        connection.send_bytes(body)
        connection.recv_bytes()

    return ask


# ---- the transports


class Echo:
    """A listener that answers each message with the message itself."""

    def connected(self, peer: Peer) -> None: ...

    def received(self, peer: Peer, message: msgspec.Struct, body: Body) -> None:
        peer.send(message)

    def disconnected(self, peer: Peer, reason: str) -> None: ...


class Asker:
    """A client that waits for each answer."""

    def __init__(self, transport: Transport, address: str) -> None:
        self._peer: Peer
        self._answered = Lock()
        self._answered.acquire()
        transport.start(self)
        transport.connect(address)
        self._answered.acquire()

    def connected(self, peer: Peer) -> None:
        self._peer = peer
        self._answered.release()

    def received(self, peer: Peer, message: msgspec.Struct, body: Body) -> None:
        self._answered.release()

    def disconnected(self, peer: Peer, reason: str) -> None: ...

    def ask(self, body: bytes) -> None:
        self._peer.send(Question(1), (body,) if len(body) > 1 else ())
        self._answered.acquire()


def _settings(kind: str) -> NetworkSettings:
    return NetworkSettings(cluster="benchmark", secret=b"benchmark", product="0", insecure="insecure" in kind)


# ---- running


def serve(kind: str, folder: Path, ready: Connection) -> None:
    """Run an echo server: send its address, and serve until the other side closes ``ready``."""
    if kind.startswith("sqlfront"):
        listen = f"unix:{folder}/{kind}" if "unix" in kind else "127.0.0.1:0"
        transport = TcpTransport(_settings(kind), [Question], listen=[listen])
        transport.start(Echo())
        ready.send(transport.addresses[0])
    elif kind == "multiprocessing":
        path = f"{folder}/{kind}"
        with Listener(path, "AF_UNIX") as listener:
            ready.send(path)
            Thread(target=serve_multiprocessing, args=(listener.accept(),), daemon=True).start()
    else:
        unix = kind.endswith("unix")
        family, address = (socket.AF_UNIX, f"{folder}/{kind}") if unix else (socket.AF_INET, ("127.0.0.1", 0))
        server = socket.socket(family)
        server.bind(address)
        server.listen()
        ready.send(server.getsockname())
        connection = _quick(server.accept()[0])
        if kind.startswith("asyncio"):
            Thread(target=lambda: asyncio.run(serve_asyncio(connection)), daemon=True).start()
        else:
            Thread(target=serve_sockets, args=(connection,), daemon=True).start()
    try:
        ready.recv()
    except EOFError:
        return


def _quick(connection: socket.socket) -> socket.socket:
    if connection.family != socket.AF_UNIX:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def connect(kind: str, folder: Path, address: object) -> Ask:
    """The client of a server at the address."""
    if kind.startswith("sqlfront"):
        transport = TcpTransport(_settings(kind), [Question], name="asker")
        return Asker(transport, str(address)).ask
    if kind == "multiprocessing":
        return ask_multiprocessing(str(address))
    connection = socket.socket(socket.AF_UNIX if kind.endswith("unix") else socket.AF_INET)
    connection.connect(address)  # type: ignore[arg-type]
    return ask_asyncio(_quick(connection)) if kind.startswith("asyncio") else ask_socket(_quick(connection))


def loopback() -> Ask:
    """The client of a server in the same process."""
    network = LoopbackNetwork()
    network.transport("echo").start(Echo())
    return Asker(network.transport("asker"), "echo").ask


def median(ask: Ask, body: bytes, count: int) -> float:
    """The median seconds per question."""
    taken = []
    for _ in range(count):
        began = time.perf_counter()
        ask(body)
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


SERVERS = (
    "blocking unix",
    "blocking tcp",
    "sqlfront unix",
    "sqlfront tcp insecure",
    "sqlfront tcp tls",
    "multiprocessing",
    "asyncio unix",
    "asyncio tcp",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often the ways take turns")
    parser.add_argument("--count", type=int, default=1000, help="small questions a turn")
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        asks: dict[str, Ask] = {"sqlfront loopback": loopback()}
        keep = []
        for kind in SERVERS:
            ours, theirs = context.Pipe()
            process = context.Process(target=serve, args=(kind, folder, theirs), daemon=True)
            process.start()
            theirs.close()
            asks[kind] = connect(kind, folder, ours.recv())
            keep.append((ours, process))
        bodies = [b"?", *(bytes(size) for size in SIZES)]
        medians: dict[str, list[list[float]]] = {kind: [[] for _ in bodies] for kind in asks}
        for _ in range(options.rounds):
            for kind, ask in asks.items():
                for times, body in zip(medians[kind], bodies, strict=True):
                    count = options.count if len(body) == 1 else max(5, options.count // 50)
                    times.append(median(ask, body, count))
        report({kind: [statistics.median(times) for times in all_] for kind, all_ in medians.items()})
        for ours, process in keep:
            ours.close()
            process.terminate()


def report(medians: dict[str, list[float]]) -> None:
    print(
        f"{'':24}{'round trip':>12}"
        + "".join(f"{size >> 10:>10} KiB" for size in SIZES)
        + "    GB/s at the last"
    )
    for kind, (small, *large) in sorted(medians.items(), key=lambda item: item[1][0]):
        cells = "".join(f"{seconds * 1e6:>11.0f} us" for seconds in large)
        print(f"{kind:24}{small * 1e6:>9.0f} us{cells}{SIZES[-1] / large[-1] / 1e9:>10.1f}")


if __name__ == "__main__":
    main()
