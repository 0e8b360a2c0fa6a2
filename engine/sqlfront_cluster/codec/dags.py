"""Conversion of DAGs into bytes and back.

A DAG is encoded as its *shape* (names, tags, parallelism, edges) and its separately encoded processors. Runs
of a cached plan share the shape and most processors, so sender and receiver cache shapes and processors:
another run of a plan costs only as much as its changed processors. A run without changed processors is the
same bytes as the run before, which both sides cache as a whole.
"""

from collections.abc import Sequence
from operator import is_
from typing import Final, Self

import msgspec

from sqlfront_cluster.codec.values import decode, encode, malformed
from sqlfront_engine.dag import DAG, Distribution, Edge, EdgeConfig, OnlyOn, Routing, Vertex
from sqlfront_engine.processor import Processor
from sqlfront_engine.processors.own_classes import NO_CODE, AllowedCode
from sqlfront_engine.processors.registry import is_own, processor_class, tag_of
from sqlfront_engine.processors.shipped_classes import ShippedClass
from sqlfront_values.expressions import SortKey
from sqlfront_values.memo import Memo

#: Cached shapes, likewise whole DAGs, and the most bytes of a cached shape and of a cached processor.
#: The three bound the memory that other members' messages can fill.
_KEPT: Final = 256
_LONGEST_SHAPE: Final = 65_536
_LONGEST_PROCESSOR: Final = 16_384


class _VertexShape(msgspec.Struct, frozen=True, array_like=True):
    """A Vertex in encoded form: ``tag`` (:mod:`~sqlfront_engine.processors.registry`) stands for the
    processor's class; the other fields are the Vertex's."""

    name: str
    tag: str | ShippedClass
    local_parallelism: int | None
    only_on: OnlyOn | None


class _EdgeShape(msgspec.Struct, frozen=True, array_like=True):
    """An Edge in encoded form: ``source`` and ``destination`` are positions of vertices in the shape; the
    other fields are the Edge's."""

    source: int
    source_ordinal: int
    destination: int
    destination_ordinal: int
    routing: Routing
    key_columns: tuple[int, ...]
    partition: int
    sort_keys: tuple[SortKey, ...]
    distribution: Distribution
    target_member: str | None
    input_priority: int
    config: EdgeConfig | None
    takes_turns: bool


class _Shape(msgspec.Struct, frozen=True, array_like=True):
    """A DAG in encoded form, without its processors; the position of an edge in ``edges`` is the edge's
    number."""

    vertices: tuple[_VertexShape, ...]
    edges: tuple[_EdgeShape, ...]


class _Travelling(msgspec.Struct, frozen=True, array_like=True):
    """The message that brings a DAG: an encoded :class:`_Shape`, and one encoded processor for each of its
    vertices, in the same order."""

    shape: bytes
    processors: tuple[msgspec.Raw, ...]


# ---- sending


class _Encoded:
    """The cached encoding of a locked DAG, shared with copies of it that have other processors: the encoded
    shape, each vertex's last encoded processor, and the last encoded DAG with its processors."""

    __slots__ = ("latest", "processors", "shape")

    def __init__(self, dag: DAG, *, ships_classes: bool = False) -> None:
        self.shape = encode(_shape_of(dag, ships_classes=ships_classes))
        self.processors: dict[str, tuple[Processor, bytes]] = {}
        # Replaced as a whole, since several threads encode.
        self.latest: tuple[list[Processor], bytes] = ([], b"")

    def encode(self, vertices: Sequence[Vertex]) -> bytes:
        """Return the encoded DAG with the processors of ``vertices``. It is encoded only if one of them is
        another object than at the last call."""
        processors, encoded = self.latest
        now = [vertex.processor for vertex in vertices]
        if len(now) != len(processors) or not all(map(is_, now, processors)):
            encoded = encode(_Travelling(self.shape, tuple([self.processor(vertex) for vertex in vertices])))
            self.latest = now, encoded
        return encoded

    def processor(self, vertex: Vertex) -> msgspec.Raw:
        """Return the vertex's processor in msgpack. It is encoded only if it is another object than the
        vertex's processor of the last call."""
        known = self.processors.get(vertex.name)
        if known is None or known[0] is not vertex.processor:
            known = self.processors[vertex.name] = vertex.processor, encode(vertex.processor)
        return msgspec.Raw(known[1])


def encode_dag(dag: DAG, *, ships_classes: bool = False) -> bytes:
    """Lock the DAG (it can't be changed any more), and encode it for :func:`decode_dag`. The objects that
    processors look up by name at run time, a job's resources, are not included. ``ships_classes``: the DAG is
    for other processes, so that it takes along the classes of processors that these can't import.

    Raises InterfaceError if a processor has data, or a class, that can't be encoded.
    """
    dag.lock()
    make = _shipping if ships_classes else _Encoded
    return dag.derive(make, make).encode(dag.vertices)


def _shipping(dag: DAG) -> _Encoded:
    return _Encoded(dag, ships_classes=True)


def _shape_of(dag: DAG, *, ships_classes: bool) -> _Shape:
    places = {vertex.name: place for place, vertex in enumerate(dag.vertices)}
    vertices = tuple(
        _VertexShape(
            vertex.name,
            tag_of(vertex.processor, ships_classes=ships_classes),
            vertex.local_parallelism,
            vertex.only_on,
        )
        for vertex in dag.vertices
    )
    return _Shape(vertices, tuple(_edge_shape(edge, places) for edge in dag.edges))


def _edge_shape(edge: Edge, places: dict[str, int]) -> _EdgeShape:
    assert edge.destination is not None
    return _EdgeShape(
        source=places[edge.source.name],
        source_ordinal=edge.source_ordinal,
        destination=places[edge.destination.name],
        destination_ordinal=edge.destination_ordinal,
        routing=edge.routing,
        key_columns=edge.key_columns,
        partition=edge.partition,
        sort_keys=edge.sort_keys,
        distribution=edge.distribution,
        target_member=edge.target_member,
        input_priority=edge.input_priority,
        config=edge.config,
        takes_turns=edge.takes_turns,
    )


# ---- receiving


class _Template(msgspec.Struct, frozen=True):
    """A received DAG, cached so that further messages of the same shape are decoded quickly. For each vertex,
    in order: its name, its processor's class, and the processor's bytes (None if they are too many to be
    cached)."""

    dag: DAG
    names: tuple[str, ...]
    kinds: tuple[type[Processor], ...]
    encoded: tuple[bytes | None, ...]

    #: Whether the classes of the processors stay the same as long as this process lives; a user's own class
    #: may be defined again under its name.
    is_lasting: bool

    @classmethod
    def of(cls, message: _Travelling, allowed: AllowedCode) -> Self:
        """Decode all of ``message``, an encoded DAG, and return it as a template, by which later DAGs of the
        same shape are decoded faster. ``allowed``: the code of users that may run in this process. Raises
        ValueError or an error of sqlfront for a malformed message."""
        shape = decode(message.shape, _Shape)
        kinds = tuple(processor_class(vertex.tag, allowed) for vertex in shape.vertices)
        encoded = tuple(map(bytes, message.processors))
        if len(encoded) != len(kinds):
            raise ValueError(f"{len(encoded)} processors for {len(kinds)} vertices")
        processors = [
            decode(data, kind, user_code=allowed.user_code) for data, kind in zip(encoded, kinds, strict=True)
        ]
        kept = tuple(data if len(data) <= _LONGEST_PROCESSOR else None for data in encoded)
        names = tuple(vertex.name for vertex in shape.vertices)
        lasting = not any(is_own(vertex.tag) for vertex in shape.vertices)
        return cls(_dag_of(shape, processors), names, kinds, kept, lasting)

    def bind(self, message: _Travelling, allowed: AllowedCode) -> DAG:
        """Return the DAG of ``message``, which has the same shape as this template; only processors whose
        bytes differ from the template's are decoded. ``allowed``: the code of users that may run in this
        process. Raises ValueError or an error of sqlfront for a malformed message."""
        if len(message.processors) != len(self.kinds):
            raise ValueError(f"{len(message.processors)} processors for {len(self.kinds)} vertices")
        changed: dict[str, Processor] = {}
        for place, raw in enumerate(message.processors):
            data = bytes(raw)
            if data != self.encoded[place]:
                kind = self.kinds[place]
                changed[self.names[place]] = decode(data, kind, user_code=allowed.user_code)
        return self.dag.with_processors(changed) if changed else self.dag


_templates: Final[dict[tuple[bytes, AllowedCode], _Template]] = {}
#: The DAGs of the templates by their messages: runs of a plan without values are the same bytes.
_repeated: Final = Memo[tuple[bytes, AllowedCode], DAG](_KEPT)


def decode_dag(data: bytes | bytearray | memoryview, allowed: AllowedCode = NO_CODE) -> DAG:
    """Return the DAG that :func:`encode_dag` has encoded. It is locked (it can't be changed); DAGs of equal
    shape share the values that were derived from the shape.

    ``allowed``: the code of users that may run in this process, if the sender is an authenticated member; any
    other user function or processor of a user's own raises NotSupportedError. Raises OperationalError for
    bytes that are no DAG, and for a processor whose class doesn't exist on this member.
    """
    whole = bytes(data), allowed
    repeated = _repeated.get(whole)
    if repeated is not None:
        return repeated
    message = decode(data, _Travelling)
    template = _templates.get((message.shape, allowed))
    try:
        if template is not None:
            return template.bind(message, allowed)
        template = _Template.of(message, allowed)
    except Exception as error:
        raise malformed("DAG", error) from error
    if len(message.shape) <= _LONGEST_SHAPE and template.is_lasting:
        if len(_templates) >= _KEPT:
            _templates.pop(next(iter(_templates)), None)
        _templates[message.shape, allowed] = template
        if None not in template.encoded:
            _repeated.keep(whole, template.dag)
    return template.dag


def _dag_of(shape: _Shape, processors: Sequence[Processor]) -> DAG:
    """Build the locked DAG of the shape, with one processor per vertex. The public methods of DAG build it,
    which check all rules of DAGs. Raises ValueError, IndexError or InterfaceError for an invalid shape."""
    dag = DAG()
    vertices = [
        dag.vertex(vertex.name, processor, vertex.local_parallelism, vertex.only_on)
        for vertex, processor in zip(shape.vertices, processors, strict=True)
    ]
    for edge in shape.edges:
        if min(edge.source, edge.destination, edge.source_ordinal, edge.destination_ordinal) < 0:
            raise ValueError("an edge with a negative number")
        dag.edge(
            Edge(
                vertices[edge.source],
                edge.source_ordinal,
                vertices[edge.destination],
                edge.destination_ordinal,
                edge.routing,
                edge.key_columns,
                edge.partition,
                edge.sort_keys,
                edge.distribution,
                edge.target_member,
                edge.input_priority,
                edge.config,
                edge.takes_turns,
            )
        )
    dag.lock()
    return dag
