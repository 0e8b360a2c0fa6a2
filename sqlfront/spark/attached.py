"""The session class for a session beside a Spark session."""

from typing import TYPE_CHECKING, Any, Final

from sqlfront.config import Config
from sqlfront.lanes.request import StatementRequest
from sqlfront.results.result import Parameters, Result
from sqlfront.session import Session
from sqlfront.spark import straight
from sqlfront.spark.frame import Frame
from sqlfront.spark.session_parts import SessionCatalog, SessionConf, written
from sqlfront.spark.start import SparkSource
from sqlfront_connectors.forms import to_physical
from sqlfront_connectors.spark.exceptions import of_both
from sqlfront_connectors.spark.rows import HeldFrame
from sqlfront_connectors.spark.run import SparkRun
from sqlfront_connectors.spark.types import spark_schema
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_planner.binder import Arguments
from sqlfront_values.columns.batches import make_batch
from sqlfront_values.errors import Error, ProgrammingError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from sqlfront.observability.observation import Observation
    from sqlfront_connectors.arrow import ArrowSource


#: Attributes of PySpark's sessions by which libraries reach Spark.
_SPARKS_OWN: Final = frozenset({"_jsparkSession", "_jvm", "_sc", "_jsc", "_client"})
#: The attribute of a Spark session with the sqlfront sessions whose rows its DataFrames read.
_LENDERS: Final = "_sqlfront_lenders"


class AttachedSession(Session):
    """A session beside a Spark session, made by :func:`sqlfront.attach`. It has all attributes of the Spark
    session, too. Closing it leaves Spark running, unless Spark was started for the session."""

    def __init__(self, spark: "SparkSource | AttachedSession", config: Config | None = None) -> None:
        """``spark``: the Spark session, a builder or an address with which to start it, or another attached
        session, whose Spark session is shared."""
        super().__init__(config, spark=spark.spark_session if isinstance(spark, AttachedSession) else spark)
        # The sessions that the Spark session keeps alive, once this session is among them.
        self._lenders: set[AttachedSession] = set()

        # Spark's `conf` and `catalog`, made at their first use.
        self._conf: SessionConf | None = None
        self._names: SessionCatalog | None = None

    def sql(self, text: str, args: Parameters | None = None, **frames: object) -> Frame:
        """Run one statement, as ``spark.sql`` does, and return its rows as a frame. ``args``: the values of
        the parameters ``:name`` or ``?``; ``{name}`` in the text stands for the frame that is passed as the
        keyword ``name``. An error is an instance of PySpark's class, too: where ``spark.sql`` raises an
        AnalysisException, the error is an AnalysisException and a ProgrammingError."""
        try:
            return Frame(self.answer(text, args, frames), self)
        except Error as error:
            raise of_both(error) from error.__cause__

    # ---- the surface of a SparkSession

    @property
    def spark_session(self) -> "SparkSession":
        """The Spark session beside this session, which is started now unless it is started already. Raises
        OperationalError if it can't be started."""
        assert self.spark is not None
        return self.spark.ready("the caller asks for the Spark session").spark

    @property
    def conf(self) -> SessionConf:
        """An object with the methods of ``spark.conf``; keys that begin with ``sqlfront.`` are settings of
        this session, all others settings of Spark."""
        self._conf = self._conf or SessionConf(self)
        return self._conf

    @property
    def catalog(self) -> SessionCatalog:
        """An object with the methods of ``spark.catalog``, for Spark's tables and views and those of this
        session."""
        self._names = self._names or SessionCatalog(self)
        return self._names

    def createDataFrame(self, *arguments: object, **named: object) -> "DataFrame":  # type: ignore[override]
        """Return the Spark DataFrame that ``spark.createDataFrame`` makes of the same arguments."""
        create: Callable[..., DataFrame] = self.spark_session.createDataFrame
        return create(*arguments, **named)

    def newSession(self) -> "AttachedSession":
        """Return a session beside a new session of the same Spark application, with this session's
        configuration."""
        return AttachedSession(self.spark_session.newSession(), self.config)

    def stop(self) -> None:
        """Close this session, and stop the Spark session if it is started."""
        theirs = None if self.spark is None or not self.spark.is_started else self.spark_session
        self.close()
        if theirs is not None:
            theirs.stop()

    def __getattr__(self, name: str) -> Any:
        # Notebooks probe for display methods; Spark isn't started for a probe. A session whose opening has
        # failed has no Spark to ask.
        if (name.startswith("_") and name not in _SPARKS_OWN) or name in ("spark", "spark_session"):
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self
            )
        return getattr(self.spark_session, name)

    @property
    def parameter_zone(self) -> str | None:
        """Always None: naive datetimes as parameters are in this machine's time zone, as in PySpark."""
        return None

    @property
    def has_sparks_zone(self) -> bool:
        """Whether Spark's time zone is one that sqlfront doesn't know, such as ``SystemV/PST8``, so that
        Spark must format timestamps."""
        assert self.spark is not None
        return self.spark.has_own_zone

    def _execute(
        self,
        text: str,
        parameters: Parameters | Arguments | None,
        timeout: float | None,
        query: QueryRun | None,
        observation: "Observation | None" = None,
    ) -> Result:
        """Run one statement as :meth:`Session.execute` does. If only Spark supports a parameter, such as a
        Column, Spark runs the statement."""
        try:
            return super()._execute(text, parameters, timeout, query, observation)
        except ProgrammingError as error:
            if (
                error.condition != "INVALID_SQL_ARG"
                or parameters is None
                or isinstance(parameters, Arguments)
            ):
                raise
            assert self.spark is not None
            request = StatementRequest(text, timeout=timeout, query=query, observation=observation)
            return self.spark.run_with(parameters, request, error)

    def register(self, name: str, frame: "ArrowSource") -> None:
        """Make ``frame`` a temporary view ``name``, which replaces a view with the same name: Arrow data, a
        :class:`~sqlfront.spark.frame.Frame` or a Spark DataFrame. A DataFrame becomes a view of Spark's, and
        so does a Frame whose query Spark runs and of which no row was read; other data become a view of this
        session."""
        source = frame.source() if isinstance(frame, Frame) else frame
        if not isinstance(source, Frame) and hasattr(source, "createOrReplaceTempView"):
            source.createOrReplaceTempView(name)
        else:
            super().register(name, source)

    def unregister(self, name: str) -> None:
        """Drop the temporary view ``name``: Spark's if Spark has one with this name, else this session's. No
        error if no view has the name."""
        assert self.spark is not None
        if not self.spark.drop_view(name):
            super().unregister(name)

    def query_of(self, result: Result) -> "DataFrame | None":
        """Return the Spark DataFrame of the query that gave ``result``, if Spark runs the query; None if
        Spark doesn't run it, for a command, and over Spark Connect."""
        assert self.spark is not None
        return self.spark.link.frame_of(result.job) if isinstance(result.job, SparkRun) else None

    def schema_of(self, result: Result) -> "StructType":
        """Return the result's schema as a StructType: Spark's own schema if Spark runs the statement, else a
        translation of sqlfront's."""
        assert self.spark is not None
        own = self.spark.link.schema_of(result.job) if isinstance(result.job, SparkRun) else None
        return own or spark_schema(result.schema)

    def spark_frame(self, result: Result) -> "HeldFrame":
        """Return a Spark DataFrame with the rows of a result, in an object that can close it. If Spark runs
        the query and no row was read, this is the DataFrame of the query itself, from which ``result`` then
        reads its rows, too. Otherwise Spark's tasks read the rows from members, or the rows are collected and
        sent to Spark."""
        assert self.spark is not None
        link = self.spark.ready("the caller asks for a DataFrame of Spark")
        query = None if result.is_read else self.query_of(result)
        if query is not None:
            result.read_instead(link.read(query))
            return HeldFrame(query, lambda: None)
        self._stay_with(link.spark)
        if not result.is_read:
            held = straight.of_result(self.context, link, result)
            if held is not None:
                return held
        schema = result.schema
        batches = [
            make_batch(
                [to_physical(column, kind) for column, kind in zip(batch.columns, schema.types, strict=True)],
                schema.names,
                batch.num_rows,
            )
            for batch in result.toArrow().to_batches()
        ]
        return link.frame(schema, batches)

    def _stay_with(self, spark: "SparkSession") -> None:
        """Make the Spark session keep this session alive until :meth:`close`. Spark's DataFrames read rows
        that this session holds, and nothing tells which DataFrames derived from them are in use."""
        lenders: set[AttachedSession] = spark.__dict__.setdefault(_LENDERS, set())
        lenders.add(self)
        self._lenders = lenders

    def close(self) -> None:
        """Cancel running queries, stop the threads, and remove temporary files; DataFrames that read rows of
        this session fail afterwards. Closing twice is no error."""
        self._lenders.discard(self)
        super().close()

    def table(self, name: str) -> Frame:
        """Return a frame of all rows of the table or view that the dotted ``name`` stands for, in this
        session or in Spark. Raises the error of ``SELECT * FROM name``, for example for an unknown name."""
        return self.sql(f"SELECT * FROM {written(name.strip())}")
