"""The Spark session beside a session, as commands and lanes know it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import msgspec

from sqlfront.lanes.request import Replan, StatementRequest
from sqlfront_planner.catalog import Elsewhere, Entry, TableEntry
from sqlfront_values.errors import Error

if TYPE_CHECKING:
    from sqlfront.lanes.way import Way
    from sqlfront.results.result import Result
    from sqlfront_connectors.spark.link import SparkLink
    from sqlfront_connectors.spark.table import SparkTable
    from sqlfront_planner.logical import LogicalPlan
    from sqlfront_planner.statements.structs import Query


class CopyCost(msgspec.Struct, frozen=True):
    """The cost of a copy of a relation of Spark's: ``size``: Spark's estimate in bytes. ``follows``: whether
    the relation gives the same rows until a change that is noticed, in Spark's plan or in files."""

    size: int
    follows: bool


class SparkBeside(Elsewhere, Protocol):
    """The Spark session beside a session, as commands and lanes know it;
    :class:`~sqlfront.spark.lane.SparkLane` implements the interface."""

    @property
    def link(self) -> "SparkLink":
        """The link to the Spark session. Raises :class:`~sqlfront.spark.lane.NotStarted` if the Spark
        session isn't started."""

    @property
    def epoch(self) -> object:
        """The last change in Spark that was taken over: another object after each change; None before Spark
        is started."""

    def whole_name(self, parts: tuple[str, ...]) -> tuple[str, ...] | None:
        """See :meth:`~sqlfront_planner.catalog.Elsewhere.whole_name`."""

    def copied(self, parts: tuple[str, ...]) -> "CopyCost":
        """The cost of a copy of Spark's relation with the dotted name. Raises Spark's errors, and
        NotSupportedError for a relation of unknown size or with columns that sqlfront can't read."""

    @property
    def is_settled(self) -> bool:
        """Whether plans that were made here are still valid: Spark's names and settings have not changed
        since, and no setting sends all queries to Spark."""

    def check_size(self, size: float) -> None:
        """Raise NotSupportedError if a job's tables, of about ``size`` bytes, are larger than the members'
        memory, and queries may go to Spark."""

    def way(self, request: "StatementRequest", replan: "Replan | None") -> "Way | None":
        """The way of a statement that Spark has to run, whatever relations the statement reads; None for
        other statements."""

    def way_after(self, error: Error, request: "StatementRequest", replan: "Replan | None") -> "Way":
        """The way by Spark of a statement that can't be planned here because of ``error``, after ``replan``
        (None: no way was tried). Raises the error if the statement isn't for Spark."""

    def replan_after(self, error: Error, request: "StatementRequest") -> "Replan":
        """The outcome of a statement that failed here with ``error`` but that Spark may run. Raises the error
        if the statement isn't for Spark."""

    def reason_for_whole(self, error: Error, reason: str) -> str:
        """The reason why Spark should run all of a query whose mixed way ended with ``error``; ``reason`` is
        the reason why the query isn't run here. Raises the error if Spark should not run the query."""

    def start(self, request: "StatementRequest", why: str) -> None:
        """Start Spark, unless it is started, and wait until it is ready. ``why``: the need of Spark, for the
        message of an error. Raises OperationalError if Spark can't be started, or if the statement's timeout
        passes or the statement is cancelled first."""

    def run(self, request: "StatementRequest", reason: str) -> "Result":
        """Run a statement by Spark, which is started if needed, and return Spark's result. ``reason``: the
        reason for the Spark lane."""

    def read(self, request: "StatementRequest", query: "Query") -> "LogicalPlan":
        """The logical plan of a query, for a statement that only sqlfront can run. Rows of Spark's relations
        are fetched into the plan."""

    def drop_view(self, name: str) -> bool:
        """Drop a temporary view of Spark's, and its copy here. Return True if Spark had the view, False if
        Spark has no such view."""

    def origin(self, entry: Entry | None) -> "SparkTable | None":
        """The relation of Spark's that a cached table copies; None for other entries."""

    def has(self, entry: Entry) -> bool:
        """Whether the entry is a copy of a table or view of Spark's."""

    def tables(
        self, request: "StatementRequest", database: str | None, kind: str = "TABLES"
    ) -> list[tuple[str, str, bool]]:
        """List Spark's tables and views, or with ``kind`` VIEWS its views, in ``database`` (None = Spark's
        current database): the database, the name, and whether the relation is temporary. Spark is started if
        needed."""

    def entry(self, parts: tuple[str, ...]) -> TableEntry:
        """Return Spark's relation of a dotted name, as an entry whose rows can be read from here."""

    def query(self, name: str, text: str) -> TableEntry:
        """An entry, for a cached table ``name``, with the rows of the query ``text`` that Spark runs."""

    def check_view(self, plan: "LogicalPlan") -> None:
        """Raise FoundElsewhere if the plan of a view reads a copy of a table or view of Spark's."""

    def columns_of(self, text: str) -> Sequence[str] | None:
        """The column names of a query that only Spark can run, for a view of this session; None if Spark
        should have the view."""

    def set_option(self, key: str, value: str) -> None:
        """Set the setting ``key`` of this session in Spark, too, if the key is one of Spark's
        (``spark.*``)."""
