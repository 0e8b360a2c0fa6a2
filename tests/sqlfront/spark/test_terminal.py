"""Ctrl-C in a real terminal while Spark, which was started for the statement, runs it."""

import sys
import time

import pytest

from tests.sqlfront.spark.terminal import ENDLESS, LONG, PIVOT, Terminal

pytestmark = [pytest.mark.spark, pytest.mark.cluster]

#: How long Spark may take to end what was interrupted (s), and how often that is tried: what else the machine
#: does must not decide.
SOON = 0.5
ATTEMPTS = 4
SESSION = f"""
import threading, time, sqlfront
connection = sqlfront.connect(spark="local[2]")

def watch():
    from pyspark import SparkContext
    tracker = SparkContext._active_spark_context.statusTracker()
    while not tracker.getActiveJobsIds():
        time.sleep(0.005)
    print("A JOB RUNS", flush=True)
    while tracker.getActiveJobsIds():
        time.sleep(0.005)
    print("NO JOB RUNS", flush=True)

def endless():
    threading.Thread(target=watch, daemon=True).start()
    connection.execute("{ENDLESS}").fetchall()

def pivot():
    return connection.execute("{PIVOT}").fetchall()
"""


def test_ctrl_c_at_a_prompt_ends_the_query_and_its_jobs_and_the_next_one_works() -> None:
    with Terminal([sys.executable, "-q", "-i", "-c", SESSION]) as terminal:
        terminal.type("pivot()")
        terminal.await_text("[(1, None)]")
        took: list[float] = []
        while len(took) < ATTEMPTS and min(took, default=SOON) >= SOON:
            terminal.type("endless()")
            terminal.await_text("A JOB RUNS")
            time.sleep(0.3)  # well into it

            began = time.perf_counter()
            terminal.interrupt()
            written = terminal.await_text("NO JOB RUNS")
            took.append(time.perf_counter() - began)

            terminal.type("pivot()")
            written += terminal.await_text("[(1, None)]")
            assert "KeyboardInterrupt" in written
        assert min(took) < SOON, took


def test_ctrl_c_ends_the_command() -> None:
    command = [sys.executable, "-m", "sqlfront", "--spark", "local[2]", "--format", "csv"]
    with Terminal([*command, "-c", "SELECT 'began' AS a", "-c", ENDLESS]) as terminal:
        terminal.await_text("began")
        terminal.await_text("spark: starting")
        terminal.await_text("stages, 0 of 4 tasks")

        terminal.interrupt()
        terminal.await_text("sqlfront: interrupted")
        assert terminal.process.wait(LONG) == 130
