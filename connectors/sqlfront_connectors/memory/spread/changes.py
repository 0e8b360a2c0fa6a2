"""The next version of a spread table after a change of a few rows, without a job: one question to each
member."""

from collections.abc import Sequence

from sqlfront_connectors.base import RowValues
from sqlfront_connectors.memory.spread.row_changes import encode_change
from sqlfront_connectors.memory.spread.share_statistics import decode_reports
from sqlfront_connectors.memory.spread.store import STORE
from sqlfront_connectors.memory.spread.table import NextVersion
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_values.partitioning.partitions import key_hasher


def change_rows(
    version: NextVersion,
    rows: Sequence[RowValues],
    keys: tuple[int, ...],
    *,
    stores: bool,
    query: QueryRun | None = None,
) -> None:
    """Publish the version without the given rows of a table with clustering columns. ``keys``: the places of
    the clustering columns' values in each of ``rows``; the last value of a row is its number. With ``stores``
    the values before the number are a row that replaces the deleted row and belongs to the same member.

    Raises the errors of a lookup; then nothing is published.
    """
    table, base, members = version.table, version.base, version.members
    assert base.key is not None
    schema, placed = table.schema, table.partitioning
    assert placed is not None
    hash_key = key_hasher([schema.field(column).type for column in placed.columns])
    gone: dict[str, list[int]] = {owner: [] for owner in members.owners}
    added: dict[str, list[RowValues]] = {owner: [] for owner in members.owners}
    for row in rows:
        owner = members.owners[hash_key(tuple(row[key] for key in keys)) % len(members.owners)]
        gone[owner].append(row[-1])  # type: ignore[arg-type]
        if stores:
            added[owner].append(row[:-1])
    key = version.processor.key
    questions = {
        owner: encode_change(key, base.key, table.name, members.dealt, gone[owner], added[owner])
        for owner in gone
    }
    answers = table.members.ask(STORE, questions, query)
    version.publish_shares(decode_reports([answers[owner] for owner in sorted(answers)], schema))
