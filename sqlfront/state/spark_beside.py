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
    from sqlfront_connectors.files.table_files import TableFiles
    from sqlfront_connectors.spark.link import SparkLink
    from sqlfront_connectors.spark.table import SparkTable
    from sqlfront_planner.logical import LogicalPlan
    from sqlfront_planner.statements.structs import Query


class CopyCost(msgspec.Struct, frozen=True):
    """The cost of CACHE TABLE's copy of a relation of Spark's. ``size``: Spark's estimate in bytes.
    ``follows``: whether sqlfront notices when the relation's rows change, by a change through Spark or of
    files."""

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
    def other_answers(self) -> str | None:
        """The setting that makes Spark's answers differ from sqlfront's, with its value, in words; None if
        the answers are the same."""

    @property
    def epoch(self) -> object:
        """An object that stands for the state of Spark's names and settings: another object after each change
        that was noticed; None before Spark is started."""

    def whole_name(self, parts: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the full name (catalog, database and name, in parts) of the relation of Spark's that a
        dotted name stands for; None if Spark has no such relation."""

    def copied(self, parts: tuple[str, ...]) -> "CopyCost":
        """Return the cost of a copy of Spark's relation with this dotted name in the members' memory (CACHE
        TABLE): the bytes by Spark's estimate, and whether sqlfront notices changes; nothing is copied. Raises
        Spark's errors, and NotSupportedError for a relation of unknown size or with columns that sqlfront
        can't read."""

    @property
    def is_settled(self) -> bool:
        """Whether plans that sqlfront made are still valid: Spark's names and settings have not changed
        since, and no setting sends all queries to Spark."""

    def check_size(self, size: float) -> None:
        """Raise NotSupportedError if a job's tables, of about ``size`` bytes, are larger than the members'
        memory, so that Spark should run the query. No error if a setting keeps all queries from Spark."""

    def way(self, request: "StatementRequest", replan: "Replan | None") -> "Way | None":
        """Return the way by which Spark runs a statement, if the text or a setting demands Spark whatever
        relations the statement reads, or if ``replan`` says that Spark has to run the statement; None if
        sqlfront has to try the statement first. ``replan``: the outcome of the way tried before, None = no
        way was tried."""

    def way_after(self, error: Error, request: "StatementRequest", replan: "Replan | None") -> "Way":
        """Return the way, in the Spark or mixed lane, of a statement that sqlfront can't plan because of
        ``error``. ``replan``: the outcome of the way tried before, None = no way was tried. Raises ``error``
        if Spark can't help, or must not run the statement."""

    def replan_after(self, error: Error, request: "StatementRequest") -> "Replan":
        """Return the Replan that sends a statement to Spark after it has failed in sqlfront with ``error``.
        Raises ``error`` if Spark can't help, or must not run the statement."""

    def reason_for_whole(self, error: Error, reason: str) -> str:
        """Return the reason why Spark should run a whole query whose mixed way ended with ``error``;
        ``reason`` is the reason why sqlfront alone doesn't run the query. Raises ``error`` if Spark should
        not run the query."""

    def start(self, request: "StatementRequest", why: str) -> None:
        """Start Spark, unless it is started, and wait until it is ready. ``why``: the purpose for which Spark
        is needed, for the message of an error. Raises OperationalError if Spark can't be started, or if the
        statement is cancelled or exceeds its timeout first."""

    def run(self, request: "StatementRequest", reason: str) -> "Result":
        """Run a statement by Spark, which is started if needed, and return Spark's result. ``reason``: the
        reason for the Spark lane, which the result shows."""

    def read(self, request: "StatementRequest", query: "Query") -> "LogicalPlan":
        """Return the logical plan of a query whose rows a statement that sqlfront runs takes, such as INSERT.
        Rows of Spark's relations are fetched from Spark now, and the plan reads the fetched rows. Raises
        NotSupportedError if Spark would give more bytes than the members' memory holds."""

    def here(self, request: "StatementRequest", plan: "LogicalPlan") -> "LogicalPlan":
        """Return a bound logical plan with rows that are fetched from Spark now in place of the scans of
        Spark's relations, for a statement that sqlfront runs, such as MERGE; ``plan`` itself if it scans no
        relation of Spark's. Raises NotSupportedError if Spark would give more bytes than the members' memory
        holds, and Spark's errors."""

    def drop_view(self, name: str) -> bool:
        """Drop the temporary view of Spark's with this name, and CACHE TABLE's copy of it in this session, if
        any. Return whether Spark had the view."""

    def origin(self, entry: Entry | None) -> "SparkTable | None":
        """Return the table of Spark's of which the entry is CACHE TABLE's copy; None for other entries."""

    def has(self, entry: Entry) -> bool:
        """Return whether the entry is CACHE TABLE's copy of a named table or view of Spark's; False for the
        copy of a query."""

    def tables(
        self, request: "StatementRequest", database: str | None, kind: str = "TABLES"
    ) -> list[tuple[str, str, bool]]:
        """Return Spark's tables and views in ``database`` (None = Spark's current database), or with ``kind``
        VIEWS only its views: each as database, name, and whether it is temporary. Spark is started if
        needed."""

    def entry(self, parts: tuple[str, ...]) -> TableEntry:
        """Return Spark's relation of a dotted name, as an entry whose rows sqlfront can read. Raises
        TABLE_OR_VIEW_NOT_FOUND if Spark has no such relation."""

    def table_files(self, parts: tuple[str, ...]) -> "TableFiles | None":
        """Return the description of a table of Spark, by which a writer can put rows into the table's files;
        None if ``parts``, the parts of a dotted name, name a relation of this session, or no relation. Raises
        NotSupportedError for a relation into which only Spark can put rows, and if a setting makes Spark's
        INSERT differ from sqlfront's."""

    def query(self, name: str, text: str) -> TableEntry:
        """Return a catalog entry called ``name`` whose rows are those of the query ``text``, which Spark
        runs. The entry is not added to the catalog: CACHE TABLE copies its rows."""

    def check_view(self, plan: "LogicalPlan") -> None:
        """Raise FoundElsewhere, so that Spark creates the view, if the plan of a new view reads CACHE TABLE's
        copy of a table or view of Spark's."""

    def columns_of(self, text: str) -> Sequence[str] | None:
        """Return the column names of the query ``text`` of a new temporary view, if the view has to be this
        session's: only Spark can run the query, but the text may name relations that only this session has.
        Return None if the view can be Spark's, since the text names no such relation, or if a setting keeps
        all queries from Spark."""

    def reset_option(self, key: str | None) -> None:
        """Set a setting of Spark's (``spark.*``), or all if ``key`` is None, to the value at Spark's start,
        if Spark is started."""

    def set_option(self, key: str, value: str) -> None:
        """Set a setting of this session in Spark, too, if Spark is started and the key is one of Spark's
        (``spark.*``)."""
