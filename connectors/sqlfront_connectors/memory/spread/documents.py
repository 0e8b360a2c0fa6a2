"""The documents about spread tables, which the keeper replicates to all members.

The document ``table:<identity>`` holds the current version of a table; ``turn:<identity>`` holds the member
that has the writer's turn, if any.
"""

from typing import Final

import msgspec
import pyarrow as pa

from sqlfront_cluster import codec
from sqlfront_cluster.members.protocol.document import Document
from sqlfront_connectors.base import Partitioning
from sqlfront_connectors.memory.segments.index import IndexDefinition
from sqlfront_connectors.memory.spread.backups import Backups
from sqlfront_connectors.memory.spread.published_table import PublishedTable
from sqlfront_connectors.memory.spread.share_statistics import decode_statistics, encode_statistics
from sqlfront_connectors.memory.spread.version import TableVersion

TABLE: Final = "table:"
TURN: Final = "turn:"


class Turn(msgspec.Struct, frozen=True):
    """The exclusive right of one writer to publish the next version of a table. ``holder``: the name of the
    member that writes. ``token``: a text by which this right differs from all earlier ones."""

    holder: str
    token: str


def turn_of(document: Document) -> Turn:
    """Decode the content of a ``turn:`` document, which says who has the exclusive right to write to a
    table."""
    return codec.decode(document.content, Turn)


class TableDocument(msgspec.Struct, frozen=True):
    """The definition of a table whose rows are spread over members, and its current version. ``creator``: the
    member that has published the version; if it leaves the cluster while no name in the catalog stands for
    the table, the document is removed.

    ``reloaded``: whether the table is filled again from its source when rows are lost. ``number``: the
    version's number. ``key``: the key under which members have the version's shares, None if the version has
    no rows. ``known``: the version's statistics as
    :func:`~sqlfront_connectors.memory.spread.share_statistics.encode_statistics` encodes them. ``dealt``: the
    version of the member list that last changed the owners of partitions when the version was made.
    ``owners``: the owner of each partition at that time. ``jobs``: the ids of the last durable jobs that have
    put their rows into the table. By these, a process that takes such a job over learns in any session
    whether the table has the job's rows. ``wanted_backups``: the number of backups that the table is to have;
    ``backups``: the members that hold the version's backups of each owner's share."""

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
    jobs: tuple[str, ...] = ()
    wanted_backups: int = 0
    backups: Backups = ()


class VersionShares(msgspec.Struct, frozen=True):
    """The fields of a :class:`TableDocument` that tell which shares the table's current version has."""

    key: str | None
    backups: Backups = ()


def encode_table(table: PublishedTable, version: TableVersion, creator: str) -> bytes:
    """Encode the :class:`TableDocument` that makes ``version`` the table's current version. ``creator``: the
    name of the member that publishes the version."""
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
            version.jobs,
            table.backups,
            version.backups,
        )
    )


def decode_table(content: bytes) -> TableDocument:
    """Decode the content of a ``table:`` document, the definition and current version of a table."""
    return codec.decode(content, TableDocument)


def decode_shares(content: bytes) -> VersionShares:
    """Decode those fields of a ``table:`` document that tell which shares the current version has, in a
    tenth of the time of :func:`decode_table`."""
    return codec.decode(content, VersionShares)


def version_of(document: TableDocument) -> TableVersion:
    """Return the version of the table that the document makes the current one."""
    return TableVersion(
        document.number,
        document.key,
        decode_statistics(document.known, document.schema),
        document.dealt,
        document.owners,
        document.indexes,
        document.jobs,
        document.backups,
    )
