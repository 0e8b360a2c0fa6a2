"""The interface through which commands and lanes use the Spark session beside a session."""

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
    """The cost of a copy of a relation of Spark's. ``size``: Spark's estimate in bytes. ``follows``: whether
    sqlfront notices when the relation's rows change, by a change through Spark or of files."""

    size: int
    follows: bool


class SparkBeside(Elsewhere, Protocol):
    """The interface through which commands and lanes use the Spark session beside a session;
    :class:`~sqlfront.spark.lane.SparkLane` implements it."""

    @property
    def link(self) -> "SparkLink":
        """The link to the Spark session, through which calls to Spark go. Raises
        :class:`~sqlfront.spark.lane.NotStarted` if the Spark session isn't started."""

    @property
    def epoch(self) -> object:
        """An object that stands for the state of Spark's names and settings: another object after each change
        that was noticed; None before Spark is started."""

    def whole_name(self, parts: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the name with catalog and database, in parts, of the relation of Spark's that a dotted name
        stands for; None if Spark has no such relation."""

    def copied(self, parts: tuple[str, ...]) -> "CopyCost":
        """Return the cost of a copy of Spark's relation with the dotted name. Raises Spark's errors, and
        NotSupportedError for a relation of unknown size or with columns that sqlfront can't read."""

    @property
    def is_settled(self) -> bool:
        """Whether plans that sqlfront made are still valid: Spark's names and settings have not changed
        since, and no setting sends all queries to Spark."""

    def check_size(self, size: float) -> None:
        """Raise NotSupportedError if a job's tables, of about ``size`` bytes, are larger than the members'
        memory, so that Spark should run the query. No error if a setting keeps all queries from Spark."""

    def way(self, request: "StatementRequest", replan: "Replan | None") -> "Way | None":
        """Return the way of a statement that Spark has to run, whatever relations it reads, or that
        ``replan`` sends to Spark (None: no way was tried); None for other statements."""

    def way_after(self, error: Error, request: "StatementRequest", replan: "Replan | None") -> "Way":
        """Return the way by Spark of a statement that sqlfront can't plan because of ``error``, after
        ``replan`` (None: no way was tried). Raises the error if the statement isn't for Spark."""

    def replan_after(self, error: Error, request: "StatementRequest") -> "Replan":
        """Return the Replan of a statement that failed in sqlfront with ``error`` but that Spark may run.
        Raises the error if the statement isn't for Spark."""

    def reason_for_whole(self, error: Error, reason: str) -> str:
        """Return the reason why Spark should run all of a query whose mixed way ended with ``error``;
        ``reason`` is the reason why sqlfront alone doesn't run the query. Raises the error if Spark should
        not run the query."""

    def start(self, request: "StatementRequest", why: str) -> None:
        """Start Spark, unless it is started, and wait until it is ready. ``why``: what Spark is needed for,
        which an error names. Raises OperationalError if Spark can't be started, or if the statement is
        cancelled or exceeds its timeout first."""

    def run(self, request: "StatementRequest", reason: str) -> "Result":
        """Run a statement by Spark, which is started if needed, and return Spark's result. ``reason``: the
        reason for the Spark lane, which the result shows."""

    def read(self, request: "StatementRequest", query: "Query") -> "LogicalPlan":
        """Return the logical plan of a query whose result a statement of sqlfront's needs, as INSERT does;
        rows of Spark's relations are fetched into the plan."""

    def drop_view(self, name: str) -> bool:
        """Drop the temporary view of Spark's with this name, and this session's copy of it. Return whether
        Spark had the view."""

    def origin(self, entry: Entry | None) -> "SparkTable | None":
        """Return the table of Spark's that the entry, a cached table, copies; None for other entries."""

    def has(self, entry: Entry) -> bool:
        """Return whether the entry is a copy of a named table or view of Spark's."""

    def tables(
        self, request: "StatementRequest", database: str | None, kind: str = "TABLES"
    ) -> list[tuple[str, str, bool]]:
        """Return Spark's tables and views in ``database`` (None = Spark's current database), or with ``kind``
        VIEWS only its views: each as database, name, and whether it is temporary. Spark is started if
        needed."""

    def entry(self, parts: tuple[str, ...]) -> TableEntry:
        """Return Spark's relation of a dotted name, as an entry whose rows sqlfront can read. Raises
        TABLE_OR_VIEW_NOT_FOUND if Spark has no such relation."""

    def query(self, name: str, text: str) -> TableEntry:
        """Return a catalog entry called ``name`` whose rows are those of the query ``text``, which Spark
        runs. CACHE TABLE copies it."""

    def check_view(self, plan: "LogicalPlan") -> None:
        """Raise FoundElsewhere if the plan of a new view reads a copy of a table or view of Spark's, so that
        Spark creates the view."""

    def columns_of(self, text: str) -> Sequence[str] | None:
        """Return the column names of a query that only Spark can run, if a view of the query has to be a view
        of this session; None if Spark can have the view."""

    def set_option(self, key: str, value: str) -> None:
        """Set a setting of this session in Spark, too, if Spark is started and the key is one of Spark's
        (``spark.*``)."""
