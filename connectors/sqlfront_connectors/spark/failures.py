"""Translation of Spark's errors into sqlfront's.

If sqlfront itself raises Spark's condition, the class is the one that sqlfront raises for the condition; else
the SQLSTATE determines the class. Condition, SQLSTATE and the position in the statement are preserved. An
error without a condition, such as a cancelled job, a lost JVM or a stopped session, usually becomes an
OperationalError.
"""

import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from sqlfront_values.errors import DatabaseError, InternalError, OperationalError, ProgrammingError, class_of
from sqlfront_values.lazy_modules import lazy_module

if TYPE_CHECKING:
    import py4j.protocol as py4j_errors
    from py4j.java_gateway import JavaObject
    from pyspark import errors as spark_errors
    from pyspark import logger as spark_logging
    from pyspark.errors.exceptions.base import QueryContext
else:
    py4j_errors = lazy_module("py4j.protocol")
    spark_errors = lazy_module("pyspark.errors")
    spark_logging = lazy_module("pyspark.logger")

#: The texts that Spark puts before and after the message.
_HEAD: Final = re.compile(r"^\s*\[[A-Z0-9_.]+\]\s*")
_TAIL: Final = re.compile(r"\s*SQLSTATE: [0-9A-Z]{5}.*", re.DOTALL)
#: Python's message on an executor, at the end of a stack, for a package that is not installed.
_MISSING: Final = re.compile(r"^ModuleNotFoundError: (No module named '[^']+')$", re.MULTILINE)
#: sqlfront's error of a task on an executor, at the end of a stack, that lets the query be run again.
_CHANGED: Final = re.compile(
    r"^sqlfront_values\.errors\.OperationalError: (.+) SQLSTATE: 40001$", re.MULTILINE
)
#: py4j's message from the JVM for an invalid call; it proves that there is a JVM.
_REFUSED: Final = re.compile(r" Trace:\n(?:py4j\.Py4JException: )?(.+)")
#: The message for a session that has ended; SQLSTATE "connection does not exist".
_GONE: Final = "the Spark session is stopped, or its JVM has died"
GONE: Final = "08003"


def translated(error: Exception) -> DatabaseError | None:
    """Return sqlfront's error for an error raised by PySpark, by py4j or by the connection to Spark; None for
    all other errors. A lost connection becomes an OperationalError with SQLSTATE 08003."""
    if isinstance(error, py4j_errors.Py4JJavaError):
        return _from_java(error.java_exception)
    if isinstance(error, spark_errors.PySparkException):
        return _from_pyspark(error)
    refused = _REFUSED.search(str(error)) if isinstance(error, py4j_errors.Py4JError) else None
    if refused is not None:
        return InternalError(f"Spark: {refused[1]}")
    if isinstance(error, (py4j_errors.Py4JError, ConnectionError, EOFError)):
        return OperationalError(_GONE, sqlstate=GONE)
    return None


@contextmanager
def ours() -> Iterator[None]:
    """Return a context manager that replaces errors of PySpark, py4j and the connection to Spark in the block
    by sqlfront's errors; other errors pass unchanged. PySpark's logging of errors is suppressed within the
    block."""
    with quiet():
        try:
            yield
        except Exception as error:
            found = translated(error)
            if found is None:
                raise
            raise found from error


@contextmanager
def quiet() -> Iterator[None]:
    """Return a context manager that suppresses, in the calling thread, PySpark's logging of errors; the
    errors themselves are raised as always."""
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        spark_logging.PySparkLogger.getLogger(name).addFilter(_is_wanted)
    before = getattr(_here, "quiet", False)
    _here.quiet = True
    try:
        yield
    finally:
        _here.quiet = before


_here: Final = threading.local()


def _is_wanted(_record: logging.LogRecord) -> bool:
    return not getattr(_here, "quiet", False)


def gone() -> OperationalError:
    """Return the error of a session that is stopped, or whose JVM has died."""
    return OperationalError(_GONE, sqlstate=GONE)


def _from_pyspark(error: "spark_errors.PySparkException") -> DatabaseError:
    condition, sqlstate = error.getCondition(), error.getSqlState()
    if condition is None:
        text = str(error).partition("\n\nJVM stacktrace:")[0].strip()
        if _is_gone(text):
            return gone()
        theirs = isinstance(error, (spark_errors.AnalysisException, spark_errors.IllegalArgumentException))
        kind = ProgrammingError if theirs else OperationalError
        return kind(text or type(error).__name__, sqlstate=sqlstate)
    return _made(condition, sqlstate, error.getMessage() or str(error), _position(error.getQueryContext()))


def _position(contexts: "list[QueryContext]") -> tuple[int, int] | None:
    """Return the range (start, end exclusive; in characters of the statement's text) at which an error with
    these ``contexts`` points; None if it points at no part of the statement itself, only at the text of a
    view."""
    for context in contexts:
        if context.contextType().name == "SQL" and not context.objectName():
            return context.startIndex(), context.stopIndex() + 1
    return None


def _from_java(error: "JavaObject") -> DatabaseError:
    """Return sqlfront's error for an exception of the JVM. The first with a condition among the exception and
    its chain of causes determines the error; without any, the last cause's message does."""
    last = error
    for cause in _causes(error):
        last = cause
        condition = _condition(cause)
        if condition is not None:
            return _made(condition, cause.getSqlState(), str(cause.getMessage()), _java_position(cause))
    text = str(last.getMessage() or last.toString())
    return gone() if _is_gone(text) else OperationalError(f"Spark: {text.strip()}")


def _causes(error: "JavaObject") -> "Iterator[JavaObject]":
    while error is not None:
        yield error
        error = error.getCause()


def _condition(error: "JavaObject") -> str | None:
    try:
        found = error.getCondition()
    except (py4j_errors.Py4JError, TypeError):  # no SparkThrowable
        return None
    return None if found is None else str(found)


def _java_position(error: "JavaObject") -> tuple[int, int] | None:
    for context in error.getQueryContext():
        if context.contextType().toString() == "SQL" and not context.objectName():
            return context.startIndex(), context.stopIndex() + 1
    return None


def _made(condition: str, sqlstate: str | None, text: str, position: tuple[int, int] | None) -> DatabaseError:
    changed = _CHANGED.search(text) if condition == "PYTHON_EXCEPTION" else None
    if changed is not None:
        return OperationalError(changed[1], sqlstate="40001")
    message = _TAIL.sub("", _HEAD.sub("", text))
    missing = _MISSING.search(message)
    if condition == "PYTHON_EXCEPTION" and missing is not None:
        text = f"{missing[1]} in the Python of Spark's executors"
        return OperationalError(text, condition=condition, sqlstate=sqlstate)
    return class_of(condition, sqlstate or "")(
        message, condition=condition, sqlstate=sqlstate, position=position
    )


def _is_gone(text: str) -> bool:
    return "stopped SparkContext" in text or "SparkContext was shut down" in text
