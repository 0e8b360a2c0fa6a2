"""Error classes that derive from both a class of PEP 249 and a class of PySpark.

Programs written for a SparkSession catch ``AnalysisException`` and call ``getCondition()``. Such programs can
catch the errors of an attached session in the same way. Each of these errors is still an
:class:`~sqlfront_values.errors.Error`.
"""

import re
import sys
from typing import TYPE_CHECKING, Any, Final

from sqlfront_values.errors import DataError, Error, NotSupportedError, OperationalError, ProgrammingError
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    from pyspark.errors.exceptions import base as spark_errors
else:
    spark_errors = lazy_module("pyspark.errors.exceptions.base")

#: PySpark's class for errors in data, by a pattern of the condition; the first one decides, others are
#: SparkRuntimeExceptions.
_OF_DATA: Final = (
    (r"(DIVIDE|REMAINDER)_BY_ZERO|INTERVAL_DIVIDED_BY_ZERO|.*_OVERFLOW(\..*)?", "ArithmeticException"),
    (r"NUMERIC_VALUE_OUT_OF_RANGE(\..*)?", "ArithmeticException"),
    (r"CANNOT_PARSE_.*|DATETIME_FIELD_OUT_OF_BOUNDS(\..*)?", "DateTimeException"),
    (r"INVALID_ARRAY_INDEX(_.*)?", "ArrayIndexOutOfBoundsException"),
    (r"INCONSISTENT_BEHAVIOR_CROSS_VERSION(\..*)?", "SparkUpgradeException"),
)
#: The same for casts, by a pattern of the type that the message names as the cast's target.
_OF_CASTS: Final = (
    (r'cast to "(DATE|TIME|TIMESTAMP)', "DateTimeException"),
    (r'cast to "(TINYINT|SMALLINT|INT|BIGINT|FLOAT|DOUBLE|DECIMAL)', "NumberFormatException"),
)
#: Conditions that data bring, though their SQLSTATE is one of statements.
_OF_ARGUMENTS: Final = frozenset({"INVALID_FORMAT.MISMATCH_INPUT"})
#: The beginnings of the conditions of Spark's parser.
_OF_THE_PARSER: Final = ("PARSE_", "INVALID_SQL_SYNTAX", "INVALID_IDENTIFIER")


def of_both(error: Error) -> Error:
    """Return a copy of ``error`` whose class also derives from the PySpark class of such errors, so that
    handlers written for PySpark catch the copy. Return ``error`` itself if PySpark has no class for it, or if
    this process has not imported PySpark.

    If ``error`` was raised from an error of Spark, the PySpark class is the class of that error; else the
    condition and sqlfront's class determine it."""
    if "pyspark.errors" not in sys.modules or isinstance(error, spark_errors.PySparkException):
        return error
    name = _class_name(error)
    if name is None:
        return error
    kind = _class_of_both(type(error), name)
    made = kind.__new__(kind)
    made.args = error.args
    made.__dict__.update(error.__dict__)
    made.__cause__ = error.__cause__
    return made.with_traceback(error.__traceback__)


def _class_name(error: Error) -> str | None:
    """Return the name of PySpark's class for ``error``; None if PySpark has none."""
    cause = error.__cause__
    if isinstance(cause, spark_errors.PySparkException):
        base = spark_errors.__name__
        return next(kind.__name__ for kind in type(cause).__mro__ if kind.__module__ == base)
    if error.condition is None:
        return None
    if error.condition in _OF_ARGUMENTS:
        return "IllegalArgumentException"
    if isinstance(error, (ProgrammingError, NotSupportedError)):
        return "ParseException" if error.condition.startswith(_OF_THE_PARSER) else "AnalysisException"
    if isinstance(error, DataError):
        return _of_data(error, error.condition)
    return "SparkRuntimeException" if isinstance(error, OperationalError) else None


def _of_data(error: DataError, condition: str) -> str:
    if condition == "CAST_INVALID_INPUT":
        found = (name for pattern, name in _OF_CASTS if re.search(pattern, error.message))
    else:
        found = (name for pattern, name in _OF_DATA if re.fullmatch(pattern, condition))
    return next(found, "SparkRuntimeException")


def _class_of_both(ours: type[Error], name: str) -> type[Error]:
    """Return a class that derives from ``ours`` and from PySpark's class ``name``, and is named like
    ``ours``."""
    made = _made.get((ours, name))
    if made is None:
        bases = (_Both, ours, getattr(spark_errors, name))
        facts = {"__module__": ours.__module__, "__doc__": ours.__doc__}
        made = _made.setdefault((ours, name), type(ours.__name__, bases, facts))
    return made


#: The classes that were made, by our class and the name of PySpark's.
_made: Final[dict[tuple[type[Error], str], type[Error]]] = {}


class _Both:
    """A mixin with the methods of PySpark's errors, which return the attributes of sqlfront's error."""

    condition: str | None
    sqlstate: str | None
    message: str
    __cause__: BaseException | None

    def getCondition(self) -> str | None:
        """Return Spark's condition of the error, None if it has none."""
        return self.condition

    def getErrorClass(self) -> str | None:
        """Return Spark's condition of the error, None if it has none; the older name of :meth:`getCondition`
        in PySpark."""
        return self.condition

    def getSqlState(self) -> str | None:
        """Return the SQLSTATE of the error, None if it has none."""
        return self.sqlstate

    def getMessage(self) -> str:
        """Return the message; if there is a condition, as ``[CONDITION] message SQLSTATE: state``."""
        state = f" SQLSTATE: {self.sqlstate}" if self.sqlstate else ""
        return f"[{self.condition}] {self.message}{state}" if self.condition else self.message

    def getMessageParameters(self) -> dict[str, str] | None:
        """Return the parameters of the message if Spark raised the error, else an empty dictionary."""
        theirs = self._theirs()
        return {} if theirs is None else theirs.getMessageParameters()

    def getQueryContext(self) -> list[Any]:
        """Return PySpark's descriptions of the places in the statement at which the error points, if Spark
        raised the error; else an empty list."""
        theirs = self._theirs()
        return [] if theirs is None else theirs.getQueryContext()

    def _theirs(self) -> "spark_errors.PySparkException | None":
        return self.__cause__ if isinstance(self.__cause__, spark_errors.PySparkException) else None
