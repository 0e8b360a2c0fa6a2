"""What stands for errors of py4j, which has one class for two things."""

from py4j.protocol import Py4JError, Py4JNetworkError

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
