"""What a pruned query costs doesn't grow with the cluster: the same messages and bytes among ten members and
a thousand, in a simulation."""

from collections import Counter

import pytest

from tests.sqlfront.simulated_sizes import JOIN, LINES, LOOKUP, SCAN, Cost, Town, customer_of

#: Bytes of numbers and names that differ from size to size.
NAMES = 100
TIMES = 5
#: By how much the client's processor time may differ, which is measured on a machine with other things to do.
NOISE = 3.0
FIRST, SECOND = 7, 1234


def measured(size: int) -> dict[str, Cost]:
    """What queries cost in a cluster of that size."""
    town = Town(size)
    path = town.path()
    town.acquaint(*(key for order in (FIRST, SECOND) for key in (order, customer_of(order))))
    lookup = town.planned(LOOKUP.format(order=SECOND))
    join = town.planned(JOIN.format(order=SECOND, customer=customer_of(SECOND)))
    total = SECOND * 100
    for _ in range(2):
        assert [list(rows) for rows in path.find([(SECOND,)])] == [[(total,)]]
        assert town.answer(lookup) == [(total,)]
        assert town.answer(join) == [
            (total, SECOND * LINES + line, f"customer {customer_of(SECOND)}") for line in range(LINES)
        ]
    return {
        "direct": town.cost(lambda: path.find([(SECOND,)]), TIMES),
        "lookup": town.cost(lambda: town.answer(lookup), TIMES),
        "join": town.cost(lambda: town.answer(join), TIMES),
    }


@pytest.fixture(scope="module")
def costs() -> dict[int, dict[str, Cost]]:
    return {size: measured(size) for size in (10, 100, 1000)}


@pytest.mark.parametrize("query", ["direct", "lookup", "join"])
def test_messages_stay_the_same(costs: dict[int, dict[str, Cost]], query: str) -> None:
    few, more, many = (costs[size][query].messages for size in (10, 100, 1000))

    assert few == more == many
    assert many["Init"] <= 2


def test_a_lookup_is_one_request_and_one_answer(costs: dict[int, dict[str, Cost]]) -> None:
    assert costs[1000]["direct"].messages == Counter(Request=1, Answer=1)
    assert costs[1000]["lookup"].messages == Counter(Init=1, Completed=1, Data=1)


@pytest.mark.parametrize("query", ["direct", "lookup", "join"])
def test_bytes_stay_the_same(costs: dict[int, dict[str, Cost]], query: str) -> None:
    few, many = costs[10][query].bytes, costs[1000][query].bytes

    assert many <= few + NAMES


@pytest.mark.parametrize("query", ["direct", "lookup", "join"])
def test_the_coordinators_work_stays_the_same(costs: dict[int, dict[str, Cost]], query: str) -> None:
    few, many = costs[10][query].cpu, costs[1000][query].cpu

    assert many <= few * NOISE


def test_without_a_key_everybody_is_asked() -> None:
    town = Town(5)
    for place in range(5):
        town.acquaint(*range(place, 300))

    cost = town.cost(lambda: town.answer(town.planned(SCAN.format(order=100))))

    assert cost.messages["Init"] == 5
