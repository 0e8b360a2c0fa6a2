"""What stands for errors of py4j, which has one class for two things."""

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException

from sqlfront_connectors.spark.failures import GONE, translated
from sqlfront_values.errors import InternalError, OperationalError


def test_a_call_that_the_jvm_refuses_is_no_lost_jvm() -> None:
    found = translated(
        Py4JError(
            "An error occurred while calling o7.leaves. Trace:\n"
            "py4j.Py4JException: Method leaves([]) does not exist\n"
            "\tat py4j.reflection.ReflectionEngine.getMethod(ReflectionEngine.java:321)\n"
        )
    )

    assert isinstance(found, InternalError)
    assert found.message == "Spark: Method leaves([]) does not exist"


def test_no_answer_is_a_lost_jvm() -> None:
    for error in (Py4JNetworkError("Answer from Java side is empty"), Py4JError("calling o7.leaves")):
        found = translated(error)
        assert isinstance(found, OperationalError)
        assert found.sqlstate == GONE


class FailedTask(PySparkException):
    """The error of a job whose task has failed in Python, as the JVM passes it on."""

    def getCondition(self) -> str:
        return "PYTHON_EXCEPTION"

    def getSqlState(self) -> str:
        return "38000"


def test_a_task_that_has_lost_its_members_says_that_the_query_may_be_run_again() -> None:
    found = translated(
        FailedTask(
            "[PYTHON_EXCEPTION] An exception was thrown from the Python worker:\n"
            "Traceback (most recent call last):\n"
            '  File "fetching.py", line 1, in fetch\n'
            "sqlfront_values.errors.OperationalError: rows of `t` can't be read: no answer; run the query"
            " again SQLSTATE: 40001\n SQLSTATE: 38000"
        )
    )

    assert isinstance(found, OperationalError)
    assert found.sqlstate == "40001"
    assert found.message == "rows of `t` can't be read: no answer; run the query again"
