"""Spark as a subject: answers SQL with its defaults (ANSI on), in UTC, on two local cores."""

from __future__ import annotations

import logging
import os
import shutil
import sys
import tempfile
from types import TracebackType
from typing import Self

import pyarrow as pa
from py4j.java_gateway import is_instance_of
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    ArrayType,
    DataType,
    IntegerType,
    MapType,
    NullType,
    StructField,
    StructType,
    YearMonthIntervalType,
)

from tests.oracle import answers
from tests.oracle.answers import Answer, Failure, Outcome
from tests.oracle.values import rows_of

#: Options that spare a JVM half of its work when it lives for minutes only. One level of compilation has a
#: code cache of 48 MB by default: 30,000 methods, those of 100 seconds of SQL. Then the JVM interprets.
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=512m"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "2g",
    "spark.driver.extraJavaOptions": SHORT_LIVED,
    "spark.sql.catalogImplementation": "in-memory",
}
#: The database of a subject's session.
DATABASE = "slt"


class SparkSubject:
    """A session of a Spark as a subject, with a database of its own that is empty at first."""

    def __init__(self, root: SparkSession) -> None:
        self.session = root.newSession()
        self.session.sql(f"DROP DATABASE IF EXISTS {DATABASE} CASCADE")
        self.session.sql(f"CREATE DATABASE {DATABASE}")
        self.session.sql(f"USE {DATABASE}")

    def answer(self, sql: str) -> Outcome:
        """Spark's answer: rows or error. A statement without a result has no columns and no rows."""
        try:
            frame = self.session.sql(sql)
            columns = tuple(
                answers.Column(field.name, field.dataType.simpleString()) for field in frame.schema.fields
            )
            if columns:
                return Answer(columns, tuple(rows_of(_arrow(frame))))
            frame.collect()  # for the error: a cursor has no rows without columns to compare with
            return Answer((), ())
        except PySparkException as error:
            return Failure(error.getCondition(), error.getSqlState(), str(error))
        except Py4JJavaError as error:
            return self._cause(error)

    def _cause(self, error: Py4JJavaError) -> Failure:
        """The failure behind an error that pyspark leaves as it is, such as one of the thread that sends
        Arrow batches: the first cause with a condition, else the last cause, as the plain RuntimeException of
        xpath. An error of the JVM itself, such as a lack of memory, is no answer and raised again."""
        gateway, cause = self.session.sparkContext._gateway, error.java_exception
        last = None
        while cause is not None:
            if is_instance_of(gateway, cause, "org.apache.spark.SparkThrowable") and cause.getCondition():
                return Failure(cause.getCondition(), cause.getSqlState(), cause.getMessage())
            if is_instance_of(gateway, cause, "java.lang.VirtualMachineError"):
                raise error
            last, cause = cause, cause.getCause()
        return Failure(None, None, str(last and last.getMessage()))


class SparkOracle:
    """A context manager that owns one JVM. `begin_file` gives an empty database and no temporary views.

    >>> with SparkOracle() as spark:  # doctest: +SKIP
    ...     spark.answer("SELECT 1")
    Answer(columns=(Column(name='1', type='int'),), rows=(('1',),))
    """

    def __enter__(self) -> Self:
        # Python workers and the driver must be one interpreter, whatever `python3` on PATH is.
        os.environ["PYSPARK_PYTHON"] = sys.executable
        self._warehouse = tempfile.mkdtemp(prefix="spark-warehouse-")
        builder = SparkSession.builder.master("local[2]").config("spark.sql.warehouse.dir", self._warehouse)
        for name, value in SETTINGS.items():
            builder = builder.config(name, value)
        self._root = builder.getOrCreate()
        self._root.sparkContext.setLogLevel("OFF")
        quiet()
        self._subject = SparkSubject(self._root)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._root.stop()
        shutil.rmtree(self._warehouse, ignore_errors=True)

    def new_session(self) -> SparkSession:
        """Another session of the same Spark, without views and with its own settings."""
        return self._root.newSession()

    def begin_file(self) -> SparkSubject:
        """Forget every table, view and setting of before; who answers from now on."""
        self._subject = SparkSubject(self._root)
        return self._subject

    def answer(self, sql: str) -> Outcome:
        """See :meth:`SparkSubject.answer`."""
        return self._subject.answer(sql)


def quiet() -> None:
    """Have PySpark log no errors of statements."""
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _arrow(frame: DataFrame) -> pa.Table:
    """The rows as Arrow. Columns get neutral names (they may repeat); what Spark doesn't turn into Arrow
    travels as something else: year-month intervals as months, void inside of arrays, maps and structs as
    int."""
    fields = frame.schema.fields
    months = [i for i, field in enumerate(fields) if isinstance(field.dataType, YearMonthIntervalType)]
    frame = frame.toDF(*(f"c{ordinal}" for ordinal in range(len(fields))))
    frame = frame.select([_carrier(frame[f"c{i}"], field.dataType) for i, field in enumerate(fields)])
    # PySpark's toArrow refuses null variants.
    with_variants = "variant" in frame.schema.simpleString()
    if with_variants:
        batches = frame._collect_as_arrow(empty_list_if_zero_records=False)  # type: ignore[operator]
        table = pa.Table.from_batches(batches)
    else:
        table = frame.toArrow()
    for ordinal in months:
        intervals = [None if value is None else (value, 0, 0) for value in table.column(ordinal).to_pylist()]
        table = table.set_column(ordinal, f"c{ordinal}", pa.array(intervals, pa.month_day_nano_interval()))
    return table


def _carrier(column: Column, kind: DataType) -> Column:
    if isinstance(kind, YearMonthIntervalType):
        interval = column.cast("interval year to month")
        return sf.extract(sf.lit("YEAR"), interval) * 12 + sf.extract(sf.lit("MONTH"), interval)
    carried = _without_void(kind)
    return column if carried == kind or isinstance(kind, NullType) else column.cast(carried)


def _without_void(kind: DataType) -> DataType:
    match kind:
        case NullType():
            return IntegerType()
        case ArrayType():
            return ArrayType(_without_void(kind.elementType), kind.containsNull)
        case MapType():
            return MapType(_without_void(kind.keyType), _without_void(kind.valueType), kind.valueContainsNull)
        case StructType():
            return StructType(
                [StructField(f.name, _without_void(f.dataType), f.nullable) for f in kind.fields]
            )
        case _:
            return kind


def parser_condition(session: SparkSession, sql: str) -> str | None:
    """The condition by which Spark's parser refuses a text, None if it takes it; nothing is run."""
    state = session._jsparkSession.sessionState()
    try:
        state.sqlParser().parsePlan(sql)
    except Py4JJavaError as error:
        return str(error.java_exception.getCondition())
    except PySparkException as error:
        return error.getCondition() or type(error).__name__
    return None
