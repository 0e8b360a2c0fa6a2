"""User functions travel pickled, and only where the peer is trusted."""

import pytest

from sqlfront_cluster.codec import decode, encode
from sqlfront_values.errors import InterfaceError, NotSupportedError, OperationalError
from sqlfront_values.user_functions import UserFunction


def test_a_function_comes_back_by_value() -> None:
    factor = 3
    sent = encode(UserFunction(lambda number: number * factor))

    assert decode(sent, UserFunction, user_code=True).function(14) == 42


def test_a_function_is_refused_where_none_may_run() -> None:
    with pytest.raises(NotSupportedError, match="--allow-user-code"):
        decode(encode(UserFunction(len)), UserFunction)


def test_a_function_is_unpickled_when_it_is_called_first() -> None:
    function = decode(encode(b"no pickle"), UserFunction, user_code=True)

    with pytest.raises(OperationalError, match="can't be loaded"):
        _ = function.function


def test_a_function_that_cannot_be_pickled_does_not_travel() -> None:
    handle = (number for number in range(3))

    with pytest.raises(InterfaceError, match="can't be sent"):
        encode(UserFunction(lambda: handle))
