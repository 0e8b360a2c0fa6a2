"""Budgets of queries and members."""

import threading

import pytest

from sqlfront_engine.memory import MemoryBudget, OperatorAccount
from sqlfront_values.errors import OperationalError


def test_charges_count_up_to_the_member() -> None:
    member = MemoryBudget("the member", 1000)
    query = MemoryBudget("the query", 500, member)
    account = OperatorAccount(query, "sort")
    account.charge(300)
    account.release(100)

    assert (account.held, query.used, member.used) == (200, 200, 200)
    assert (account.peak, query.peak, member.peak) == (300, 300, 300)


def test_closing_gives_everything_back() -> None:
    member = MemoryBudget("the member", 1000)
    account = OperatorAccount(MemoryBudget("the query", 500, member), "sort")
    account.charge(300)
    account.close()
    account.close()

    assert (account.held, member.used) == (0, 0)


def test_above_the_query_s_limit_the_error_names_operator_use_and_limit() -> None:
    member = MemoryBudget("the member", 10_000_000)
    query = MemoryBudget("the query", 3_000_000, member)
    OperatorAccount(query, "scan").charge(2 * 1024**2)

    with pytest.raises(OperationalError) as caught:
        OperatorAccount(query, "hash-join").charge(1024**2)

    assert str(caught.value) == (
        "[UNABLE_TO_ACQUIRE_MEMORY] hash-join needs 1 MiB more memory, but the query already uses 2 MiB of"
        " its limit of 2.9 MiB. SQLSTATE: 53200"
    )
    assert query.used == member.used == 2 * 1024**2


def test_relief_is_asked_until_a_charge_fits_or_there_is_no_more() -> None:
    budget, copies = MemoryBudget("the member", 100), [30, 30, 30]
    budget.charge(sum(copies), "copies")

    def relieve() -> bool:
        if not copies:
            return False
        budget.release(copies.pop())
        return True

    budget.relief = relieve
    budget.charge(60, "sort")
    assert (copies, budget.used) == ([30], 90)
    with pytest.raises(OperationalError, match="sort needs 41 bytes"):
        budget.charge(41, "sort")
    assert (copies, budget.used) == ([], 60)


def test_above_the_member_s_limit_nothing_stays_charged() -> None:
    member = MemoryBudget("the member", 100)
    other = OperatorAccount(MemoryBudget("the query", 100, member), "sort")
    other.charge(80)
    query = MemoryBudget("the query", 100, member)

    with pytest.raises(OperationalError, match="the member already uses 80 bytes of its limit of 100 bytes"):
        OperatorAccount(query, "sort").charge(30)

    assert (query.used, member.used) == (0, 80)


def test_many_threads_leave_nothing_behind() -> None:
    member = MemoryBudget("the member", 10**9)

    def work() -> None:
        account = OperatorAccount(MemoryBudget("the query", 10**9, member), "sort")
        for size in range(2000):
            account.charge(size)
            account.release(size // 2)
        account.close()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert member.used == 0
