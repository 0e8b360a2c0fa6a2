"""The first texts that several threads check at once, while the grammar's states are being built."""

import subprocess
import sys

PROGRAM = """
import sys, threading
from sqlfront_planner.syntax import grammar, recognizer
from sqlfront_planner.syntax.check import check_syntax

TEXTS = [
    "INSERT INTO u VALUES (?)",
    "SELECT k, v FROM t WHERE k = ?",
    "SELECT sum(k), count(*) FROM t WHERE k >= ? GROUP BY ALL",
    "SELECT id FROM range(3000000) AS r JOIN s USING (id)",
    "WITH c AS (SELECT 1 AS a) SELECT CASE WHEN a IN (1, 2) THEN 'x' END FROM c ORDER BY 1 LIMIT 3",
    "CREATE TABLE t USING memory CLUSTERED BY (k) INTO 31 BUCKETS AS SELECT id AS k FROM range(5)",
]
sys.setswitchinterval(1e-6)
errors = []

def check(text, barrier):
    barrier.wait()
    try:
        check_syntax(text)
    except Exception as error:
        errors.append(error)

for _ in range(6):
    for cached in (grammar.spark_grammar, recognizer._usual, recognizer._beginnings):
        cached.cache_clear()
    barrier = threading.Barrier(2 * len(TEXTS))
    threads = [threading.Thread(target=check, args=(text, barrier)) for text in TEXTS * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
for error in errors:
    print(error)
"""


def test_threads_that_check_their_first_texts_at_once_find_no_errors() -> None:
    """In a process of its own, since the program forgets the grammar and switches threads all the time."""
    assert subprocess.check_output([sys.executable, "-c", PROGRAM], text=True, timeout=120) == ""
