"""Metrics: served while a session or a member is open, and true."""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import re
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial

import pytest
from prometheus_client.parser import text_string_to_metric_families

import sqlfront
from sqlfront import Config
from sqlfront.cluster.processes import SERVICE
from sqlfront.observability.metrics import endpoint as endpoints
from sqlfront.observability.metrics.collector import METRICS
from sqlfront.observability.metrics.endpoint import close_endpoint, open_endpoint
from sqlfront.observability.metrics.tallies import BUCKETS
from sqlfront.shell.cluster import service_settings
from sqlfront_cluster.launchers.local import LocalCluster
from tests.cluster.network.meeting import until

ANYWHERE = "127.0.0.1:0"

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def scraped(address: str | None) -> Samples:
    """The samples at an address: the value of each name and set of labels."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=30) as answer:
        families = list(text_string_to_metric_families(answer.read().decode()))
    found: Samples = {}
    for family in families:
        for sample in family.samples:
            key = sample.name, frozenset(sample.labels.items())
            assert key not in found, f"{key} comes twice"
            found[key] = sample.value
    return found


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples.get((name, frozenset(labels.items())), 0.0)


def has_two_members(address: str, name: str) -> bool:
    """Whether the member ``name`` knows of two members."""
    return value(scraped(address), "sqlfront_members", member=name, role="member") == 2


def bare(name: str) -> str:
    """A metric's name without the ending of one of its samples."""
    return re.sub("_(total|bucket|count|sum|created)$", "", name)


@pytest.fixture(scope="module")
def connection() -> Iterator[sqlfront.Connection]:
    with sqlfront.connect(config=Config(metrics=ANYWHERE, members=3, workers=3)) as made:
        made.execute("CREATE TABLE numbers USING memory CLUSTERED BY (k) AS SELECT id AS k FROM range(20000)")
        yield made


def test_every_documented_metric_is_served_and_no_other(connection: sqlfront.Connection) -> None:
    connection.execute("SELECT 1").fetchall()
    served = {
        re.sub("_(total|bucket|count|sum|created)$", "", name)
        for name, _ in scraped(connection.session.metrics_address)
    }

    assert served == {name for name, *_ in METRICS}


def test_labels_are_those_that_are_documented(connection: sqlfront.Connection) -> None:
    documented = {name: set(labels) for name, _, labels, _ in METRICS}
    for name, labels in scraped(connection.session.metrics_address):
        names = {label for label, _ in labels} - {"le"}
        assert names == documented[bare(name)]


def test_statements_count_by_lane_and_outcome(connection: sqlfront.Connection) -> None:
    before = scraped(connection.session.metrics_address)
    for number in range(7):
        connection.execute(f"SELECT k, 'x' FROM numbers WHERE k = {number}").fetchall()
    with pytest.raises(sqlfront.Error):
        connection.execute("SELEC")
    with pytest.raises(sqlfront.Error):
        connection.execute("SELECT 1 DIV (k - k) FROM numbers").fetchall()
    after = scraped(connection.session.metrics_address)

    def grown(name: str, **labels: str) -> float:
        return value(after, name, **labels) - value(before, name, **labels)

    assert grown("sqlfront_statements_total", lane="direct", outcome="finished") == 7
    assert grown("sqlfront_statements_total", lane="none", outcome="failed") == 1
    assert grown("sqlfront_statements_total", lane="light", outcome="failed") == 1
    assert grown("sqlfront_statement_seconds_count", lane="direct") == 7
    assert grown("sqlfront_rows_given_total", lane="direct") == 7
    assert grown("sqlfront_plan_cache_hits_total", lane="direct") == 6
    assert grown("sqlfront_plan_cache_misses_total", lane="direct") == 1
    assert value(after, "sqlfront_statements_running") == 0


def test_open_results_count_as_running_and_dropped_ones_do_not(connection: sqlfront.Connection) -> None:
    cursor = connection.execute("SELECT k, 1 FROM numbers")
    cursor.fetchmany(3)
    assert value(scraped(connection.session.metrics_address), "sqlfront_statements_running") == 1
    del cursor
    assert value(scraped(connection.session.metrics_address), "sqlfront_statements_running") == 0


def test_statements_of_many_threads_are_all_counted(connection: sqlfront.Connection) -> None:
    def count() -> float:
        samples = scraped(connection.session.metrics_address)
        return value(samples, "sqlfront_statements_total", lane="direct", outcome="finished")

    before = count()

    def ask() -> None:
        for number in range(50):
            connection.execute("SELECT k, 'threads' FROM numbers WHERE k = ?", [number]).fetchall()

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert count() - before == 400


def test_the_buckets_of_the_histogram_grow_to_the_count(connection: sqlfront.Connection) -> None:
    samples = scraped(connection.session.metrics_address)
    bounds = [*map(str, BUCKETS), "+Inf"]
    buckets = [
        value(samples, "sqlfront_statement_seconds_bucket", lane="command", le=bound) for bound in bounds
    ]

    assert buckets == sorted(buckets)
    assert buckets[-1] == value(samples, "sqlfront_statement_seconds_count", lane="command") > 0


def test_sessions_with_one_address_share_it_and_the_last_one_closes_it() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = Config(metrics=f"127.0.0.1:{port}")
    before = threading.active_count()
    with sqlfront.connect(config=config) as first:
        with sqlfront.connect(config=config) as second:
            second.execute("SELECT 1").fetchall()
            assert first.session.metrics_address == second.session.metrics_address == f"127.0.0.1:{port}"
            limits = [
                labels
                for name, labels in scraped(f"127.0.0.1:{port}")
                if name == "sqlfront_memory_limit_bytes"
            ]
            assert len(limits) == 2
        first.execute("SELECT 1").fetchall()
        assert (
            value(
                scraped(f"127.0.0.1:{port}"), "sqlfront_statements_total", lane="direct", outcome="finished"
            )
            == 2
        )
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), 5).close()
    until(lambda: threading.active_count() <= before)


def test_a_session_that_opens_while_the_last_one_closes_waits_for_the_port(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = sqlfront.connect(metrics=ANYWHERE)
    address = str(first.session.metrics_address)
    close, opened = endpoints.MetricsEndpoint._close, list[sqlfront.Connection]()
    opener = threading.Thread(target=lambda: opened.append(sqlfront.connect(metrics=address)), daemon=True)

    def close_late(endpoint: endpoints.MetricsEndpoint, *arguments: Callable[[], None]) -> None:
        monkeypatch.undo()
        opener.start()
        until(lambda: not opener.is_alive() or is_waiting(opener))
        close(endpoint, *arguments)

    monkeypatch.setattr(endpoints.MetricsEndpoint, "_close", close_late)
    first.close()
    opener.join(60)
    (second,) = opened
    assert scraped(address)
    second.close()
    assert address not in endpoints._shared


def is_waiting(thread: threading.Thread) -> bool:
    """Whether the thread waits for another one."""
    frame = sys._current_frames().get(thread.ident or 0)
    return frame is not None and frame.f_code is threading.Condition.wait.__code__


@pytest.mark.parametrize("lock", ["of the counts", "of the endpoints"])
def test_a_forgotten_session_waits_for_no_lock_of_its_thread(lock: str) -> None:
    with sqlfront.connect(metrics=ANYWHERE) as kept:
        address = kept.session.metrics_address
        endpoint = endpoints._shared[str(address)].endpoint

        def forget() -> None:
            open_result = sqlfront.connect(metrics=address).execute("SELECT id FROM range(100000)")
            assert open_result.fetchone() == (0,)
            circle: list[object] = [open_result]
            circle.append(circle)
            del open_result, circle
            with endpoint.tallies._lock if lock == "of the counts" else endpoints._locks[0]:
                gc.collect()

        thread = threading.Thread(target=forget, daemon=True)
        thread.start()
        thread.join(60)
        assert not thread.is_alive()
        assert value(scraped(address), "sqlfront_statements_running") == 0
        assert endpoints._shared[str(address)].users == 1


def test_a_session_forgotten_on_the_thread_of_the_port_closes_the_port(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connection = sqlfront.connect(metrics=ANYWHERE)
    endpoint = endpoints._shared[str(connection.session.metrics_address)].endpoint
    server, thread = endpoint._server, endpoint._thread
    forgotten: list[object] = [connection]
    forgotten.append(forgotten)
    del connection

    def collects(*_: object) -> bool:
        forgotten.clear()
        gc.collect()
        return False

    monkeypatch.setattr(server, "verify_request", collects)
    with (
        contextlib.suppress(OSError),
        socket.create_connection(("127.0.0.1", server.server_port), timeout=30) as client,
    ):
        client.recv(1)
    thread.join(60)
    assert not thread.is_alive()


def test_a_port_in_use_is_named() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(
            sqlfront.OperationalError, match=f"metrics can't be served at {address}: Address already"
        ):
            sqlfront.connect(config=Config(metrics=address))


@pytest.mark.parametrize("address", ["9100", "localhost", "unix:/tmp/x", "host:port", "127.0.0.1:99999", ""])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(sqlfront.ProgrammingError, match="metrics take an address host:port"):
        sqlfront.connect(config=Config(metrics=address))


def test_a_forked_process_serves_nothing_and_leaves_the_parents_port_alone() -> None:
    endpoint = open_endpoint(ANYWHERE)
    ask_read, ask_write = os.pipe()
    child = os.fork()
    if not child:  # waits until the parent has closed its port, and then tells whether anybody answers there
        try:
            os.read(ask_read, 1)
            host, _, port = endpoint.address.rpartition(":")
            try:
                socket.create_connection((host, int(port)), 5).close()
            except ConnectionRefusedError:
                os._exit(0)
        finally:
            os._exit(1)
    try:
        assert scraped(endpoint.address)
        close_endpoint(endpoint)
        os.write(ask_write, b"x")
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        os.close(ask_read)
        os.close(ask_write)


def test_without_the_library_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sqlfront.observability.metrics.endpoint.find_spec", lambda name: None)
    with pytest.raises(sqlfront.OperationalError, match=r"pip install 'sqlfront\[metrics\]'"):
        sqlfront.connect(config=Config(metrics=ANYWHERE))


def test_metrics_load_nothing_in_sessions_that_serve_none() -> None:
    program = (
        "import sqlfront, sys; sqlfront.sql('select 1').collect();"
        "names = 'sqlfront.observability.', 'prometheus', 'opentelemetry';"
        "assert not [name for name in sys.modules if name.startswith(names)]"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_members_in_processes_serve_theirs() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    addresses = [f"127.0.0.1:{port + number}" for number in range(2)]
    with LocalCluster(
        2, workers=1, service=SERVICE, settings=lambda number: {"metrics": addresses[number]}
    ) as cluster:
        for number, address in enumerate(addresses):
            name = f"local-{number}"
            assert name in cluster.members
            # The first member hears of the second a moment later.
            until(partial(has_two_members, address, name))
            samples = scraped(address)
            owners = [count for (metric, _), count in samples.items() if metric == "sqlfront_partitions"]
            assert sum(owners) == 271
            assert value(samples, "sqlfront_memory_limit_bytes", member=name) > 0


@pytest.mark.doors
def test_a_member_whose_port_is_taken_does_not_start() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(sqlfront.OperationalError, match=f"metrics can't be served at {address}"):
            LocalCluster(1, workers=1, service=SERVICE, settings=lambda number: {"metrics": address})


@pytest.mark.parametrize(
    ("given", "number", "expected"),
    [
        ("127.0.0.1:9464", 0, "127.0.0.1:9464"),
        ("[::1]:9464", 2, "[::1]:9466"),
        ("127.0.0.1:0", 2, "127.0.0.1:0"),
    ],
)
def test_each_member_of_a_cluster_by_hand_has_its_port(given: str, number: int, expected: str) -> None:
    options = argparse.Namespace(metrics=given, tracing=True, job_store=None)

    assert service_settings(options, number) == {"metrics": expected, "tracing": "on"}


def test_members_by_hand_need_a_store_that_can_be() -> None:
    with pytest.raises(sqlfront.ProgrammingError, match="job_store must be the path"):
        service_settings(argparse.Namespace(metrics=None, tracing=False, job_store=""))


@pytest.mark.parametrize("given", ["9464", "localhost:65535", "localhost:-1", "localhost:x", "unix:/x", ""])
def test_members_by_hand_need_ports(given: str) -> None:
    with pytest.raises(sqlfront.ProgrammingError, match="--metrics takes host:port"):
        service_settings(argparse.Namespace(metrics=given, tracing=False, job_store=None), 1)
