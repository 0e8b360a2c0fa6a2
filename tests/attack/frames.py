"""Frames that somebody might send, from a seed: random bytes, damaged frames, messages of the right types
with nonsense in them, and plans made by hand."""

import random
import types
import typing
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Annotated, Any

import msgspec
import pyarrow as pa

from sqlfront_cluster import codec
from sqlfront_cluster.codec.placements import encode_placement
from sqlfront_cluster.members.protocol.cluster_messages import MESSAGES, DocumentsSeen
from sqlfront_cluster.members.protocol.messages import Data, Init
from sqlfront_cluster.network.frames import HEADER, MAGIC, PROTOCOL_VERSION, FrameKind, encode_frame
from sqlfront_cluster.network.handshake import CONTROL_TYPES
from sqlfront_engine.dag import DAG, Edge
from sqlfront_engine.plans.placement import Placement
from sqlfront_engine.processors.forward import Forward
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_values.settings import Settings

#: Numbers at which something may overflow, or be made that is too large.
NUMBERS = (0, 1, -1, 2, 271, 2**31 - 1, 2**31, -(2**31), 2**32, 2**53, 2**62, 2**63 - 1, -(2**63))
TEXTS = (
    "",
    "a",
    "keeper",
    "local-0",
    "local-1",
    "memory:store",
    "x" * 300,
    "\0",
    "é\n\x1b[31m",
    "../../etc/passwd",
)


class Frames:
    """Makes frames."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def before_the_proof(self) -> bytes:
        """What a stranger sends first."""
        makers: Sequence[Callable[[], bytes]] = (
            lambda: self.random.randbytes(self.random.randrange(200)),
            self._header,
            lambda: self._message(CONTROL_TYPES, FrameKind.CONTROL),
            lambda: self._message(MESSAGES, FrameKind.MESSAGE),
            lambda: self._message(MESSAGES, FrameKind.CONTROL),
            lambda: self.damaged(self._message(CONTROL_TYPES, FrameKind.CONTROL)),
            lambda: b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
            lambda: b"\x16\x03\x01\x02\x00" + self.random.randbytes(300),
        )
        return b"".join(self.random.choice(makers)() for _ in range(self.random.randrange(1, 4)))

    def after_the_proof(self) -> bytes:
        """What a member or client sends."""
        makers: Sequence[Callable[[], bytes]] = (
            lambda: self._message(MESSAGES, FrameKind.MESSAGE),
            lambda: self._message(MESSAGES, FrameKind.MESSAGE),
            lambda: self.damaged(self._message(MESSAGES, FrameKind.MESSAGE)),
            lambda: self._message(CONTROL_TYPES, FrameKind.CONTROL),
            self._header,
            lambda: self.random.randbytes(self.random.randrange(1, 100)),
            self._nested,
            self._plan,
            self._plan,
            self._body,
        )
        return self.random.choice(makers)()

    def damaged(self, frame: bytes) -> bytes:
        """A frame with a few bytes changed, cut off, doubled or put in."""
        data = bytearray(frame)
        for _ in range(self.random.randrange(1, 5)):
            place = self.random.randrange(len(data) or 1)
            match self.random.randrange(4):
                case 0 if data:
                    data[place] = self.random.randrange(256)
                case 1:
                    del data[place:]
                case 2:
                    data[place:place] = data[place : place + self.random.randrange(1, 30)]
                case _:
                    data[place:place] = self.random.randbytes(self.random.randrange(1, 9))
        return bytes(data)

    def _header(self) -> bytes:
        """A header with lengths and kinds that can't be."""
        lengths = (0, 1, 4096, 4097, 2**24, 2**24 + 1, 2**31, 2**32 - 1)
        bodies = (0, 1, 2**20, 2**30, 2**30 + 1, 2**40, 2**63, 2**64 - 1)
        version = self.random.choice((PROTOCOL_VERSION, 0, 2, 255))
        kind = self.random.choice((0, 1, 2, 255))
        head = HEADER.pack(MAGIC, version, kind, self.random.choice(lengths), self.random.choice(bodies))
        return head + self.random.randbytes(self.random.randrange(64))

    def _message(self, kinds: Sequence[type[msgspec.Struct]], kind: FrameKind) -> bytes:
        made = self.value(self.random.choice(kinds))
        body = (self.random.randbytes(self.random.randrange(1, 500)),) if self.random.random() < 0.2 else ()
        try:
            return _joined(encode_frame(int(kind), made, body))
        except (TypeError, ValueError, OverflowError, msgspec.MsgspecError):
            return self._header()

    def _nested(self) -> bytes:
        """Maps and arrays as deep as a message may be."""
        depth = self.random.choice((100, 10_000, 1_000_000))
        content = self.random.choice((b"\x91", b"\x81\xa1a")) * depth + b"\xc0"
        return HEADER.pack(MAGIC, PROTOCOL_VERSION, int(FrameKind.MESSAGE), len(content), 0) + content

    def _plan(self) -> bytes:
        """An init whose plan, placement or numbers are not what a coordinator would send."""
        dag = DAG()
        source = dag.vertex("a", Forward(), self.random.choice((1, 2)))
        sink = dag.vertex("b", ResultSink())
        dag.edge(Edge.between(source, sink).to_one().distribute_to())
        dag.lock()
        plan, placed = codec.encode_dag(dag), encode_placement(self._placement())
        match self.random.randrange(5):
            case 0:
                plan = self.damaged(plan)
            case 1:
                placed = self.damaged(placed)
            case 2:
                plan = self.random.randbytes(50)
            case _:
                pass
        numbers = (None, *NUMBERS)
        init = Init(
            self.random.randrange(2**62),
            self.random.choice((*range(8), *NUMBERS)),
            plan,
            placed,
            Settings(),
            self.random.choice((271, *NUMBERS)),
            self.random.choice(numbers),
            self.random.choice(numbers),
            self.random.random() < 0.5,
            self.random.random() < 0.5,
        )
        return _joined(encode_frame(int(FrameKind.MESSAGE), init))

    def _placement(self) -> Placement:
        members = self.random.sample(
            ("local-0", "local-1", "nobody", "keeper"), k=self.random.randrange(1, 4)
        )
        coordinator = self.random.choice(("attacker", *members))
        dealt = tuple(tuple(range(start, 271, len(members))) for start in range(len(members)))
        return Placement(coordinator, tuple(members), dealt)

    def _body(self) -> bytes:
        """Rows of a job that isn't there, or whose schema they don't have."""
        schema = pa.schema([("n", pa.int64())]).serialize().to_pybytes()
        if self.random.random() < 0.5:
            schema = self.damaged(schema)
        message = Data(self.random.choice(NUMBERS[:3]), self.random.choice((0, 1, 77)), schema=schema)
        return _joined(
            encode_frame(
                int(FrameKind.MESSAGE), message, (self.random.randbytes(self.random.randrange(1, 2000)),)
            )
        )

    # ---- values of any type that messages have

    def value(self, kind: Any, depth: int = 0) -> Any:
        """Some value of the type; now and then of another one."""
        if self.random.random() < 0.02:
            return self.random.choice((None, -1, "x", b"y", [], {}, 1.5, True))
        origin = typing.get_origin(kind)
        if origin is Annotated:
            inner = typing.get_args(kind)[0]
            return self.random.randbytes(32) if inner is bytes else self.value(inner, depth)
        if origin in (types.UnionType, typing.Union):
            return self.value(self.random.choice(typing.get_args(kind)), depth)
        if origin is tuple:
            count = self.random.choice((0, 1, 2, 5)) if depth < 4 else 0
            return tuple(self.value(typing.get_args(kind)[0], depth + 1) for _ in range(count))
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            return self._struct(kind, depth)
        if isinstance(kind, type) and issubclass(kind, Enum):
            return self.random.choice(list(kind))
        return self._plain(kind)

    def _struct(self, kind: type[msgspec.Struct], depth: int) -> msgspec.Struct:
        hints = typing.get_type_hints(kind, include_extras=True)
        values = {name: self.value(hints[name], depth + 1) for name in kind.__struct_fields__}
        try:
            return kind(**values)
        except Exception:  # noqa: BLE001 - some nodes refuse to be built wrong
            return DocumentsSeen(0)

    def _plain(self, kind: object) -> object:
        if kind is int:
            return self.random.choice(NUMBERS)
        if kind is float:
            return self.random.choice((0.0, -1.0, 1e308, float("nan"), float("inf")))
        if kind is str:
            return self.random.choice(TEXTS)
        if kind is bytes:
            return self.random.randbytes(self.random.choice((0, 1, 40, 4000)))
        if kind is bool:
            return self.random.random() < 0.5
        return None


def _joined(frame: Any) -> bytes:
    return b"".join(map(bytes, frame.parts))
