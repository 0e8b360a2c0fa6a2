"""The cluster's documents about spread tables.

``table:<identity>`` holds the current version of a table, ``turn:<identity>`` the member that writes to the
table now.
"""

from typing import Final

import msgspec
import pyarrow as pa

from sqlfront_cluster import codec
from sqlfront_cluster.members.keeper import Document
from sqlfront_connectors.base import Partitioning
from sqlfront_connectors.memory.segments.index import IndexDefinition
from sqlfront_connectors.memory.spread.share_statistics import decode_statistics, encode_statistics
from sqlfront_connectors.memory.spread.table import SpreadTable, TableVersion

TABLE: Final = "table:"
TURN: Final = "turn:"


class Turn(msgspec.Struct, frozen=True):
    """A writer's turn at a table: the writing member, and the unique text of the turn."""

    holder: str
    token: str


def turn_of(document: Document) -> Turn:
    """Decode the content of a ``turn:`` document."""
    return codec.decode(document.content, Turn)


class TableDocument(msgspec.Struct, frozen=True):
    """A spread table and its current version; ``known``: see
    :func:`~sqlfront_connectors.memory.spread.share_statistics.encode_statistics`. ``creator``: the member
    that owns the table until the table has a name."""

    name: str
    schema: pa.Schema
    partitioning: Partitioning | None
    creator: str
    reloaded: bool
    number: int
    key: str | None
    known: bytes
    dealt: int
    owners: tuple[str, ...]
    indexes: tuple[IndexDefinition, ...] = ()


def encode_table(table: SpreadTable, version: TableVersion, creator: str) -> bytes:
    """Encode the content of the ``table:`` document that publishes ``version`` as the table's current
    version; see :class:`TableDocument`."""
    return codec.encode(
        TableDocument(
            table.name,
            table.schema,
            table.partitioning,
            creator,
            table.reloaded,
            version.number,
            version.key,
            encode_statistics(version.known),
            version.dealt,
            version.owners,
            version.indexes,
        )
    )


def decode_table(content: bytes) -> TableDocument:
    """Decode the content of a ``table:`` document."""
    return codec.decode(content, TableDocument)


def version_of(document: TableDocument) -> TableVersion:
    """Return the version that the document publishes."""
    return TableVersion(
        document.number,
        document.key,
        decode_statistics(document.known, document.schema),
        document.dealt,
        document.owners,
        document.indexes,
    )
