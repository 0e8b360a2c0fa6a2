"""The tables of :mod:`benchmarks.areas`: arrays, texts, numbers over time, and trees."""

import json

import numpy as np
import pyarrow as pa

#: The mean number of elements of an array.
LENGTH = 10
#: Rows of the table ``flat`` for each row of the others.
FLAT = 5


def tables(rows: int) -> dict[str, pa.Table]:
    """Return the tables by name, the same at every call.

    ``arrays``, ``texts``, ``tree`` and ``target`` have ``rows`` rows; ``flat`` has five times as many,
    ``points`` a fiftieth, and ``changes`` a quarter.
    """
    random = np.random.default_rng(1)
    return {
        "arrays": _arrays(rows, random),
        "texts": _texts(rows, random),
        "flat": _flat(FLAT * rows, random),
        "points": _points(rows // 50, random),
        "tree": _tree(rows),
        "target": pa.table({"id": np.arange(rows), "v": random.integers(0, 1000, rows)}),
        "changes": pa.table(
            {"id": random.permutation(2 * rows)[: rows // 4], "v": random.integers(0, 1000, rows // 4)}
        ),
    }


def _arrays(rows: int, random: np.random.Generator) -> pa.Table:
    lengths = random.integers(1, 2 * LENGTH, rows)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    count = int(lengths.sum())
    numbers = pa.array(random.integers(0, 1000, count))
    words = pa.array([f"word {n}" for n in range(1000)]).take(numbers)
    structs = pa.StructArray.from_arrays([numbers, words], names=["p", "q"])
    few = np.arange(5 * rows + 1, step=5, dtype=np.int32)
    keys = pa.array([f"k{n}" for n in range(5)] * rows)
    return pa.table(
        {
            "id": np.arange(rows),
            "b": random.integers(0, 1000, rows),
            "a": pa.ListArray.from_arrays(offsets, numbers),
            "w": pa.ListArray.from_arrays(offsets, words),
            "s": pa.ListArray.from_arrays(offsets, structs),
            "m": pa.MapArray.from_arrays(few, keys, pa.array(random.integers(0, 1000, 5 * rows))),
        }
    )


def _texts(rows: int, random: np.random.Generator) -> pa.Table:
    names = [f"customer {n}" for n in random.integers(0, 10**6, rows)]
    prices = np.round(random.random(rows) * 1000, 2).tolist()
    zips = random.integers(0, 100_000, rows).tolist()
    seconds = random.integers(1_600_000_000, 1_700_000_000, rows).astype("datetime64[s]")
    stamps = [str(second).replace("T", " ") for second in seconds]
    tags = [[f"t{n}" for n in some] for some in random.integers(0, 100, (rows, 3))]
    documents = [
        json.dumps({"id": n, "name": name, "price": price, "tags": tag, "place": {"zip": code}, "ts": at})
        for n, (name, price, tag, code, at) in enumerate(zip(names, prices, tags, zips, stamps, strict=True))
    ]
    return pa.table(
        {
            "id": np.arange(rows),
            "j": documents,
            "c": [f"{n},{name},{price}" for n, (name, price) in enumerate(zip(names, prices, strict=True))],
            "s": [f"{name}, zip {code}, at {at}" for name, code, at in zip(names, zips, stamps, strict=True)],
            "n": names,
            "ts": stamps,
        }
    )


def _flat(rows: int, random: np.random.Generator) -> pa.Table:
    at = random.integers(1_600_000_000, 1_610_000_000, rows) * 1_000_000
    return pa.table(
        {
            "id": np.arange(rows),
            "g": random.integers(0, 1000, rows),
            "k": random.integers(0, 10, rows),
            "n": random.integers(0, 1_000_000, rows),
            "x": np.round(random.random(rows) * 1000, 3),
            "ts": pa.array(at).cast(pa.timestamp("us", "UTC")),
            "q": pa.array(["north", "east", "south", "west"]).take(pa.array(random.integers(0, 4, rows))),
        }
    )


def _points(rows: int, random: np.random.Generator) -> pa.Table:
    return pa.table(
        {"id": np.arange(rows), "g": np.arange(rows) % 1000, "n": random.integers(0, 1_000_000, rows)}
    )


def _tree(rows: int) -> pa.Table:
    """Nodes of a tree in which each has ten children; the root is 0, whose parent is -1."""
    numbers = np.arange(rows)
    return pa.table({"id": numbers, "parent": np.where(numbers == 0, -1, (numbers - 1) // 10)})
