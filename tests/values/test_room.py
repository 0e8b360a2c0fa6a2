import pytest

from sqlfront_engine.memory import MemoryBudget, OperatorAccount
from sqlfront_values import room
from sqlfront_values.errors import OperationalError

MIB = 1024**2


@pytest.fixture
def account() -> OperatorAccount:
    return OperatorAccount(MemoryBudget("the query", 100 * MIB), "project")


def test_small_sizes_are_not_counted(account: OperatorAccount) -> None:
    room.occupy(account, None)
    try:
        room.claim("upper", room.UNCOUNTED)
        assert account.held == 0
    finally:
        room.occupy(None, None)


def test_a_large_size_is_charged_until_it_is_given_back(account: OperatorAccount) -> None:
    room.occupy(account, None)
    try:
        before = room.held()
        room.claim("upper", 10 * MIB)
        assert account.held == 10 * MIB
        room.give_back(before)
        assert account.held == 0
    finally:
        room.occupy(None, None)


def test_one_value_beyond_the_querys_memory_names_function_operator_size_and_limit(
    account: OperatorAccount,
) -> None:
    room.occupy(account, None)
    try:
        with pytest.raises(room.TooLargeError, match=r"space in project needs 200 MiB .* limit of 100 MiB"):
            room.claim("space", 200 * MIB)
    finally:
        room.occupy(None, None)


def test_many_values_beyond_the_querys_memory_are_made_in_pieces(account: OperatorAccount) -> None:
    room.occupy(account, None)
    try:
        with pytest.raises(room.BatchTooLargeError):
            room.claim("space", 110 * MIB, rows=2)
    finally:
        room.occupy(None, None)


def test_one_value_may_be_larger_than_what_is_made_at_once() -> None:
    room.claim("space", 2 * room.MOST_AT_ONCE, rows=1)
    with pytest.raises(room.BatchTooLargeError):
        room.claim("space", 2 * room.MOST_AT_ONCE, rows=2)


def test_no_text_is_longer_than_its_length_can_say() -> None:
    room.claim("space", room.MOST_TEXT, most=room.MOST_TEXT)
    with pytest.raises(room.TooLargeError, match="the limit is 2 GiB"):
        room.claim("space", room.MOST_TEXT + 1, most=room.MOST_TEXT)


def test_nothing_large_is_made_within_limits() -> None:
    with room.limited(), pytest.raises(room.TooLargeError):
        room.claim("space", room.FEW_BYTES + 1)
    room.claim("space", room.FEW_BYTES + 1)


def test_inner_limits_do_not_widen_outer_ones() -> None:
    with room.limited(100_000), room.limited(200_000), pytest.raises(OperationalError):
        room.claim("space", 150_000)


def test_who_is_to_stop_learns_it_at_the_next_check() -> None:
    room.occupy(None, lambda: True)
    try:
        with pytest.raises(room.StoppedError):
            room.check()
    finally:
        room.occupy(None, None)
    room.check()
