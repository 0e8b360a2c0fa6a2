"""Every function that Spark has is either ours or refused as not built; what Spark hasn't is no function."""

import pytest

from sqlfront_planner.binder.expressions.arguments import NOT_CALLABLE
from sqlfront_planner.binder.functions.calls import SPECIAL
from sqlfront_planner.binder.functions.function_names import function_names
from sqlfront_planner.binder.functions.switched_off import SWITCHED_OFF
from sqlfront_planner.binder.generator_calls import GENERATORS, TABLE_GENERATORS
from sqlfront_planner.binder.names import spark_functions
from sqlfront_planner.testing import bound
from sqlfront_values.errors import Error, NotSupportedError, ProgrammingError
from sqlfront_values.functions.aggregates.registry import aggregate_names, lookup_aggregate
from sqlfront_values.functions.registry import lookup, names
from sqlfront_values.functions.windows.registry import lookup_window, window_names
from tests.planner.bound_queries import failure

#: Written like calls, though `SHOW FUNCTIONS` lacks them.
IN_THE_GRAMMAR = {"timestampadd", "timestampdiff", "timediff", "try_cast"}
#: Their values have no type here: they may be called beside a date or timestamp, or under a cast to a string.
BESIDE_OTHERS = {"make_interval", "try_make_interval"}


def _is_ours(name: str) -> bool:
    if name in SWITCHED_OFF:
        return False
    if name in SPECIAL or name in GENERATORS:
        return True
    if lookup_aggregate(name) is not None or lookup_window(name) is not None:
        return True
    return name not in NOT_CALLABLE and (lookup(name) is not None or name == "regexp")


def _outcome(sql: str) -> Error | None:
    try:
        bound(sql)
    except Error as error:
        return error
    return None


@pytest.mark.parametrize("name", sorted(spark_functions.CALLABLE))
def test_a_callable_function_of_spark_is_ours_or_not_supported(name: str) -> None:
    error = _outcome(f"select `{name}`(1)")

    if name in SWITCHED_OFF:
        assert error is not None  # Spark's own
    elif name in BESIDE_OTHERS:
        assert isinstance(error, NotSupportedError)
    elif _is_ours(name):
        assert not isinstance(error, NotSupportedError)
    else:
        assert isinstance(error, NotSupportedError)
        assert f"The function {name} " in str(error)
    assert error is None or error.condition != "UNRESOLVED_ROUTINE"


def test_what_is_shown_is_ours_or_an_operator() -> None:
    shown = {name for name in function_names() if name.isidentifier()}
    operators = {"and", "between", "case", "in", "not", "or", "when"}

    assert (
        shown - operators - {"range"} - TABLE_GENERATORS
        == {name for name in spark_functions.CALLABLE if _is_ours(name)} - operators
    )


def test_what_can_be_called_is_a_function_of_spark() -> None:
    ours = {*names(), *SPECIAL, *aggregate_names(), *window_names()} - NOT_CALLABLE

    assert ours - IN_THE_GRAMMAR <= spark_functions.CALLABLE


@pytest.mark.parametrize("name", sorted(spark_functions.TABLES))
def test_a_table_function_is_no_scalar(name: str) -> None:
    assert failure(f"select `{name}`(1)").condition == "NOT_A_SCALAR_FUNCTION"


@pytest.mark.parametrize("name", sorted(spark_functions.IN_FROM - GENERATORS - TABLE_GENERATORS - {"range"}))
def test_a_table_function_of_spark_is_not_supported(name: str) -> None:
    error = failure(f"select * from {name}(1)")

    assert isinstance(error, NotSupportedError)
    assert f"The table function {name} " in str(error)


def test_a_scalar_function_is_no_table() -> None:
    assert failure("select * from abs(1)").condition == "NOT_A_TABLE_FUNCTION"


@pytest.mark.parametrize("sql", ["select nope(1)", "select nope(1) over ()", "select `case`(1)"])
def test_a_name_that_spark_does_not_know_is_unresolved(sql: str) -> None:
    error = failure(sql)

    assert isinstance(error, ProgrammingError)
    assert error.condition == "UNRESOLVED_ROUTINE"
    assert "Did you mean" in str(error)


def test_a_table_function_that_spark_does_not_know_is_unresolvable() -> None:
    assert failure("select * from nope(1)").condition == "UNRESOLVABLE_TABLE_VALUED_FUNCTION"
