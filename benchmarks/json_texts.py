"""from_json beside DuckDB's from_json: rows per second of CPU time, for events with nested values.

python -m benchmarks.json_texts
"""

import json
import random
import statistics
import time
from collections.abc import Callable
from functools import partial

import duckdb
import pyarrow as pa

import sqlfront

ROWS = 100_000
ROUNDS = 5
SCHEMA = (
    "id BIGINT, name STRING, price DOUBLE, tags ARRAY<STRING>, place STRUCT<city: STRING, zip: INT>,"
    " at TIMESTAMP"
)
PEER_SCHEMA = (
    '{"id":"BIGINT","name":"VARCHAR","price":"DOUBLE","tags":["VARCHAR"],'
    '"place":{"city":"VARCHAR","zip":"INTEGER"},"at":"TIMESTAMP"}'
)


def events(rows: int) -> pa.Table:
    """A table of one column ``v``, texts of JSON objects."""
    chance = random.Random(1)
    texts = [
        json.dumps(
            {
                "id": number,
                "name": f"customer {chance.randrange(10**6)}",
                "price": round(chance.random() * 1000, 2),
                "tags": [f"t{chance.randrange(100)}" for _ in range(chance.randrange(4))],
                "place": {"city": f"city {chance.randrange(1000)}", "zip": chance.randrange(100_000)},
                "at": f"2024-0{chance.randrange(1, 10)}-11T10:{chance.randrange(10, 60)}:00",
            }
        )
        for number in range(rows)
    ]
    return pa.table({"v": pa.array(texts)})


def rate(work: Callable[[], object]) -> float:
    """The median rate of some rounds, in rows per second of CPU time."""
    work()
    seconds = []
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return ROWS / statistics.median(seconds)


def main() -> None:
    """Print the rates of both, and their ratio, for a short schema and for a nested one."""
    table = events(ROWS)
    peer = duckdb.connect()
    peer.execute("SET threads TO 1")
    peer.register("events", table)
    with sqlfront.connect() as connection:
        connection.session.register("events", table)
        for title, ours, theirs in (
            ("one number read as text", "id STRING, price DOUBLE", '{"id":"VARCHAR","price":"DOUBLE"}'),
            ("two fields", "id BIGINT, price DOUBLE", '{"id":"BIGINT","price":"DOUBLE"}'),
            ("all fields", SCHEMA, PEER_SCHEMA),
        ):
            own = f"SELECT from_json(v, '{ours}') AS x FROM events"
            other = f"SELECT from_json(v, '{theirs}') AS x FROM events"
            mine = rate(partial(_read, connection, own))
            its = rate(partial(_read_peer, peer, other))
            print(f"{title}: sqlfront {mine:,.0f} rows/s, DuckDB {its:,.0f}, ratio {mine / its:.2f}")


def _read_peer(peer: duckdb.DuckDBPyConnection, query: str) -> object:
    return peer.sql(query).to_arrow_table()


def _read(connection: sqlfront.Connection, query: str) -> object:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetch_arrow_table()


if __name__ == "__main__":
    main()
