"""Clients and members that are killed or stopped in the middle of their work, and many threads at once."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import sqlfront
from tests.attack.fort import SECRET, Fort, built, until

# One worker starts the clusters.
pytestmark = pytest.mark.xdist_group("fort")

#: Seconds within which members have to be done with the work of a client that is gone; it is one on an idle
#: machine.
AT_ONCE = 3.0
#: Queries that keep members busy for far longer than that: by large steps, and by long ones.
BUSY = {
    "pairs": "SELECT count(*) FROM t a, t b, t c WHERE a.id * b.id % 7 > c.id % 5",
    "texts": "SELECT sum(levenshtein(repeat(string(a.id), 300), repeat(string(b.id), 300))) FROM t a, t b",
    # One step of the thread that hears the client.
    "step": """SELECT sum(levenshtein(repeat(string(id), 90000), repeat(string(id + 1), 90000))) FROM t
        WHERE id BETWEEN 560 AND 580""",
    "windows": """SELECT max(r) FROM
        (SELECT row_number() OVER (PARTITION BY a.id % 7 ORDER BY b.id) AS r FROM t a, t b, range(8) c)""",
}
CLIENT = """
import sys, threading, sqlfront
connection = sqlfront.connect(sys.argv[1], secret=sys.argv[2], workers=1)
print("ready", flush=True)
def close():
    sys.stdin.readline()
    connection.close()
threading.Thread(target=close, daemon=True).start()
try:
    connection.execute(sys.argv[3]).fetchall()
except sqlfront.Error as error:
    print(error, flush=True)
"""


@pytest.fixture
def fort(tls_fort: Fort) -> Fort:
    """Encryption is part of a hard day."""
    return tls_fort


def client(fort: Fort, query: str) -> "subprocess.Popen[str]":
    """A client in a process of its own, whose query runs on the members."""
    process = subprocess.Popen(
        [sys.executable, "-c", CLIENT, f"sqlfront://{fort.cluster.address}", SECRET, query],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    until(lambda: busy(fort), lambda: "the query never began")
    return process


def busy(fort: Fort) -> bool:
    """Whether members work, by the processor time that they take."""
    before = used(fort)
    time.sleep(0.3)
    return used(fort) - before > 0.1


def used(fort: Fort) -> float:
    """Seconds of processor time that the members have taken so far."""
    ticks = 0
    for process in fort.cluster.processes.values():
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def seconds_until_idle(fort: Fort) -> float:
    """How long members go on working."""
    began = time.monotonic()
    until(lambda: not busy(fort), lambda: "members go on working")
    return time.monotonic() - began


@pytest.mark.parametrize(
    "query",
    [
        pytest.param(sql, id=name, marks=() if name == "pairs" else pytest.mark.attack)
        for name, sql in BUSY.items()
    ],
)
@pytest.mark.parametrize("end", ["kill", "close"])
def test_a_client_that_is_gone_is_worked_for_no_more(fort: Fort, query: str, end: str) -> None:
    process = client(fort, query)
    try:
        if end == "kill":
            process.kill()
        else:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        assert seconds_until_idle(fort) < AT_ONCE
        assert process.wait(20) in (0, -signal.SIGKILL)
    finally:
        process.kill()
        process.communicate()


@pytest.mark.attack
def test_a_client_that_is_stopped_disturbs_nobody(fort: Fort) -> None:
    process = client(fort, BUSY["pairs"])
    try:
        with fort.attacked():
            process.send_signal(signal.SIGSTOP)
            time.sleep(7.0)  # longer than anybody may be silent
            process.send_signal(signal.SIGCONT)
            assert process.wait(20) == 0
        assert process.stdout is not None
        assert "OperationalError" not in process.stdout.read()
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("seconds", [1.0, pytest.param(30.0, marks=pytest.mark.attack)])
def test_64_threads_keep_the_sum(fort: Fort, seconds: float) -> None:
    """Threads move amounts between accounts, others look: whoever looks sees the same sum."""
    fort.good.execute(
        "CREATE OR REPLACE TABLE accounts USING memory CLUSTERED BY (id) INTO 271 BUCKETS"
        " AS SELECT id, 100L AS amount FROM range(50)"
    )
    over = time.monotonic() + seconds
    wrong: list[object] = []
    done = [0, 0]
    sessions = [
        sqlfront.connect(f"sqlfront://{fort.cluster.address}", secret=SECRET, workers=1) for _ in range(4)
    ]

    def work(number: int) -> None:
        seed = random.Random(number)
        session = sessions[number % len(sessions)]
        while time.monotonic() < over:
            try:
                if number % 8 == 0:
                    giver, taker = seed.sample(range(50), 2)
                    session.execute(
                        f"UPDATE accounts SET amount = amount + CASE id WHEN {giver} THEN -1 ELSE 1 END"
                        f" WHERE id IN ({giver}, {taker})"
                    )
                    done[0] += 1
                else:
                    found = session.execute("SELECT sum(amount), count(*) FROM accounts").fetchall()
                    done[1] += 1
                    if found != [(5000, 50)]:
                        wrong.append(found)
            except sqlfront.OperationalError as error:
                if error.sqlstate != "40001":  # another writer was first
                    wrong.append(error)
            except Exception as error:  # noqa: BLE001 - reported below
                wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(64)]
    with fort.attacked():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for session in sessions:
            session.close()
    assert not wrong, wrong[:3]
    assert all(done), done


@pytest.mark.attack
def test_a_member_that_is_stopped_or_killed_is_lost_and_the_others_go_on() -> None:
    """A stopped member is removed, and finds out when it goes on; the table says what it lacks."""
    with built(insecure=False) as fort:
        processes = fort.cluster.processes
        processes["local-1"].send_signal(signal.SIGSTOP)
        until(lambda: "local-1" not in fort.cluster.members, lambda: "it is still there")
        assert fort.good.execute("SELECT count(*) FROM range(1000)").fetchall() == [(1000,)]
        with pytest.raises(sqlfront.OperationalError):
            fort.good.execute("SELECT count(*) FROM t").fetchall()
        processes["local-1"].send_signal(signal.SIGCONT)
        assert processes["local-1"].wait(20) == 1
        fort.cluster.add(1)
        until(lambda: overwritten(fort), lambda: "the cluster goes on changing")
        fort.ask(1)


def overwritten(fort: Fort) -> bool:
    """Fill the table anew, unless the cluster changes meanwhile."""
    try:
        fort.good.execute("INSERT OVERWRITE t SELECT id FROM range(1000)")
    except sqlfront.OperationalError as error:
        if error.sqlstate != "40001":
            raise
        return False
    return True
