"""Whole columns as integers: hashing, grouping, matching, sorting, text."""

import random
from math import inf, nan

import numpy as np
import pyarrow as pa
import pytest

from sqlfront_values.columns.batches import concat_columns, split_batch
from sqlfront_values.columns.encoding import Codes
from sqlfront_values.columns.grouping import group_rows
from sqlfront_values.columns.hashing import MULTIPLIERS, IntegerTable
from sqlfront_values.columns.matching import KeyDirectory
from sqlfront_values.columns.ordering import combine_ranks, ranks, sorting_order
from sqlfront_values.columns.presence import KeyPresence
from sqlfront_values.columns.text import Text, TextTable
from sqlfront_values.expressions import SortOrder
from sqlfront_values.functions.aggregates.accumulators.base import Groups, best_text_rows
from sqlfront_values.types import DICTIONARY_STRING


@pytest.mark.parametrize(("rows", "different"), [(0, 5), (1, 1), (100, 3), (5000, 4000), (60_000, 30_000)])
def test_a_table_of_integers_knows_its_values_and_no_others(rows: int, different: int) -> None:
    randomness = np.random.default_rng(rows)
    keys = randomness.integers(-(2**63), 2**63 - 1, different)
    values = keys[randomness.integers(0, different, rows)]
    table = IntegerTable(values)

    assert (values[table.numbers] == values).all()
    assert len(np.unique(table.numbers)) == len(np.unique(values))
    probes = np.concatenate([keys, randomness.integers(-(2**63), 2**63 - 1, 1000), np.array([0, 1, -1])])
    found, known = table.find(probes), np.isin(probes, values)
    assert ((found != table.missing) == known).all()
    assert (values[found[known]] == probes[known]).all()


def test_a_table_bears_values_that_were_chosen_to_collide() -> None:
    inverse = pow(int(MULTIPLIERS[0]), -1, 2**64)
    values = np.array([number * inverse % 2**64 for number in range(3000)], np.uint64).view(np.int64)
    table = IntegerTable(values)

    assert (table.numbers == np.arange(3000)).all()
    assert (table.find(values) == np.arange(3000)).all()


@pytest.mark.parametrize("step", [1, 1000, 10**14])
@pytest.mark.parametrize("low", [-(2**63), -500, 0, 3, 2**63 - 1 - 1000 * 10**14])
def test_presence_misses_no_key_and_takes_few_others_for_one(low: int, step: int) -> None:
    keys = pa.array([low + number * step for number in range(0, 1000, 3)] + [None])
    presence = KeyPresence.of(keys)
    assert presence is not None
    found = presence.test(pa.array([low + number * step for number in range(1000)]))
    assert found is not None
    assert found[::3].all()
    assert found.mean() < 0.5
    beyond = presence.test(pa.array([-(2**63) + 1, -(2**62), 2**62, 2**63 - 1]))
    assert beyond is not None
    assert beyond.sum() <= 1


@pytest.mark.parametrize("kind", [pa.int8(), pa.int32(), pa.date32(), pa.decimal64(12, 2), pa.float64()])
def test_presence_is_told_for_all_that_compares_as_integers(kind: pa.DataType) -> None:
    presence = KeyPresence.of(pa.array([3, 5, None], pa.int32()).cast(kind))
    assert presence is not None
    found = presence.test(pa.array([3, 4, 5], pa.int32()).cast(kind))
    assert found is not None
    assert found.tolist() == [True, False, True]


def test_presence_of_no_keys_and_of_strings() -> None:
    presence = KeyPresence.of(pa.array([None], pa.int64()))
    assert presence is not None
    assert presence.test(pa.array([0, 1, -1])).tolist() == [False, False, False]  # type: ignore[union-attr]
    assert KeyPresence.of(pa.array(["a"])) is None


COLUMNS = {
    "few integers": pa.array([3, 1, None, 3, 1, 3]),
    "integers far apart": pa.array([2**62, -(2**63), None, 2**62, 0, 2**63 - 1]),
    "doubles": pa.array([0.0, -0.0, nan, nan, None, inf]),
    "strings": pa.array(["b", "", None, "b", "é", "b\0"]),
    "dictionary": pa.array(["b", "a", None, "b", "a", "b"]).dictionary_encode(),
    "dictionary with a value twice": pa.DictionaryArray.from_arrays(
        pa.array([0, 1, None, 2, 1], pa.int32()), ["x", "y", "x"]
    ),
    "wide decimals": pa.array([10**30, None, 10**30, -1, 5], pa.decimal128(38, 0)),
    "structs": pa.array([{"a": 1, "b": "x"}, {"a": 1, "b": None}, None, {"a": 1, "b": "x"}]),
    "lists": pa.array([[1, None], [1], None, [1, None], []]),
    "nothing but null": pa.nulls(4),
}


def identity(value: object) -> object:
    """Equal where grouping says so."""
    if isinstance(value, float):
        return "NaN" if value != value else value + 0.0
    return repr(value) if isinstance(value, dict | list) else value


@pytest.mark.parametrize("name", COLUMNS)
def test_rows_are_grouped_by_value(name: str) -> None:
    column = COLUMNS[name]
    values = [identity(value) for value in column.to_pylist()]
    for columns, keys in (([column], values), ([column, pa.array(range(len(column))).cast(pa.int8())], None)):
        grouping = group_rows(columns, len(column))
        wanted = keys or list(range(len(column)))

        assert grouping.size == len(set(wanted))
        assert [wanted[row] for row in grouping.rows[grouping.ids].tolist()] == wanted


def test_many_rows_of_two_string_columns_are_grouped() -> None:
    randomness = random.Random(2)
    names = [f"some name {randomness.randrange(9000)}" for _ in range(20_000)]
    towns = [f"town {name[-3:]}" if row % 2 else "elsewhere" for row, name in enumerate(names)]
    grouping = group_rows([pa.array(names), pa.array(towns)], len(names))
    pairs = list(zip(names, towns, strict=True))

    assert grouping.size == len(set(pairs))
    assert [pairs[row] for row in grouping.rows[grouping.ids].tolist()] == pairs


def test_columns_that_follow_from_others_are_told_from_those_that_do_not() -> None:
    numbers = [row % 3000 for row in range(9000)]
    following = [f"customer {number}" for number in numbers]
    breaking = [*following[:-1], "someone else"]
    assert group_rows([pa.array(numbers), pa.array(following)], 9000).size == 3000
    assert group_rows([pa.array(numbers), pa.array(breaking)], 9000).size == 3001


@pytest.mark.parametrize("name", [name for name in COLUMNS if name != "nothing but null"])
def test_a_directory_finds_each_key_and_no_other(name: str) -> None:
    column = COLUMNS[name]
    directory = KeyDirectory([column], len(column))
    rows = range(len(column)) if directory.rows is None else directory.rows.tolist()
    numbers = {
        identity(column[row].as_py()): number
        for row, number in zip(rows, directory.numbers.tolist(), strict=True)
    }

    found = directory.find([column], len(column)).tolist()
    for value, number in zip(column.to_pylist(), found, strict=True):
        if value is None:
            assert number not in numbers.values()
        else:
            assert number == numbers[identity(value)]


def test_a_sparse_directory_answers_alike_before_and_after_it_gets_its_table() -> None:
    keys = np.array([5, 70_000, 1_000_000], np.int64)
    directory = KeyDirectory([pa.array(keys)], 3)
    probes = pa.array([5, 6, 70_000, None, 1_000_000, -1, 10**12])
    first = directory.find([probes], 7).tolist()
    for _ in range(3):
        directory.find([pa.array(np.arange(60_000))], 60_000)

    assert directory.find([probes], 7).tolist() == first
    assert [number in directory.numbers for number in first] == [True, False, True, False, True, False, False]


def test_a_directory_asks_once_for_the_memory_of_its_table_and_does_without() -> None:
    asked: list[int] = []

    def refused(size: int) -> bool:
        asked.append(size)
        return False

    keys = np.array([5, 70_000, 1_000_000], np.int64)
    directory = KeyDirectory([pa.array(keys)], 3, may_hold=refused)
    most = directory.nbytes
    probes = np.arange(60_000)
    for _ in range(5):
        found = directory.find([pa.array(probes)], 60_000)

    assert probes[np.isin(found, directory.numbers)].tolist() == [5]
    [size] = asked
    assert size >= 8 * 999_996
    assert directory.nbytes == most < 1000


def place(value: object) -> tuple[object, ...]:
    """Where a value sorts."""
    if isinstance(value, float):
        return (value != value, 0.0 if value != value else value)
    return (value.encode() if isinstance(value, str) else value,)


@pytest.mark.parametrize("order", SortOrder)
@pytest.mark.parametrize(
    "name", ["few integers", "integers far apart", "doubles", "strings", "dictionary", "wide decimals"]
)
def test_ranks_sort_like_values(name: str, order: SortOrder) -> None:
    column = COLUMNS[name]
    codes = ranks(column, order)
    values = column.to_pylist()
    known = sorted((value for value in values if value is not None), key=place, reverse=order.descends)
    nulls = [None] * values.count(None)

    in_order = [values[row] for row in sorting_order(codes).tolist()]
    wanted = nulls + known if order.nulls_first else known + nulls
    assert [identity(value) for value in in_order] == [identity(value) for value in wanted]
    assert all(0 <= code < codes.bound for code in codes.values.tolist())


def test_ranks_of_many_wide_columns_combine() -> None:
    randomness = np.random.default_rng(3)
    columns = [randomness.integers(-(2**62), 2**62, 500) for _ in range(3)]
    columns[0] %= 7
    codes = combine_ranks([ranks(pa.array(column)) for column in columns], 500)
    assert sorting_order(codes).tolist() == np.lexsort(columns[::-1]).tolist()


def test_an_order_of_codes_too_wide_to_pack() -> None:
    values = np.array([2**61, 0, 2**61 - 1, 5])
    assert sorting_order(Codes(values, 2**62)).tolist() == [1, 3, 2, 0]


TEXTS = ["", "a", "a\0", "ab", "abcdefgh", "abcdefgh\0", "abcdefghi", "é" * 9] + [
    "".join(random.Random(number).choices("ab\0", k=number % 30)) for number in range(3000)
]


def test_strings_as_words() -> None:
    column = pa.array(TEXTS).slice(3)
    text = Text(column)
    for number in range(text.words.shape[1]):
        expected = [
            int.from_bytes(value.encode()[8 * number : 8 * number + 8].ljust(8, b"\0"), "little")
            for value in TEXTS[3:]
        ]
        assert text.words[:, number].tolist() == expected


def test_a_table_of_strings_tells_zeros_at_the_end() -> None:
    column = pa.array(TEXTS).slice(3)
    table = TextTable(column)
    known = set(TEXTS[3:])
    probes = [*TEXTS[::3], "a", "a\0\0", "abcdefgh\0\0", "zz"]

    assert table.exact
    assert [TEXTS[3:][number] for number in table.numbers.tolist()] == TEXTS[3:]
    for value, number in zip(probes, table.find(pa.array(probes)).tolist(), strict=True):
        assert number == table.missing if value not in known else TEXTS[3:][number] == value


@pytest.mark.parametrize("greatest", [False, True])
def test_the_best_string_of_each_group(greatest: bool) -> None:
    ids = np.arange(len(TEXTS)) % 7
    rows, found = best_text_rows(Groups(ids, 8), Text(pa.array(TEXTS)), greatest=greatest)
    pick = max if greatest else min

    assert found.tolist() == [True] * 7 + [False]
    assert [TEXTS[row] for row in rows[:7].tolist()] == [
        pick(TEXTS[group::7], key=str.encode) for group in range(7)
    ]


def test_pieces_of_a_column_in_different_forms_are_joined() -> None:
    pieces = [pa.array(["a", None]), pa.array(["b", "a"]).dictionary_encode(), pa.array([], pa.string())]
    assert concat_columns(pieces).to_pylist() == ["a", None, "b", "a"]
    assert concat_columns([pieces[1], pieces[1]]).type == DICTIONARY_STRING


@pytest.mark.parametrize("count", [1, 2, 3, 50])
@pytest.mark.parametrize("used", [1, 2, 40])
def test_a_batch_is_split_into_the_rows_of_each_target_in_their_order(count: int, used: int) -> None:
    randomness = np.random.default_rng(count)
    targets = randomness.choice(randomness.integers(0, count, used), 100)
    batch = pa.RecordBatch.from_pydict({"n": list(range(100)), "s": list("abcde" * 20)})

    parts = split_batch(batch, targets, count)

    assert sorted(parts) == np.unique(targets).tolist()
    for target, part in parts.items():
        assert part.column(0).to_pylist() == np.flatnonzero(targets == target).tolist()
        part.validate(full=True)
