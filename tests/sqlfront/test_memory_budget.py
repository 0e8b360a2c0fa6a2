"""What doesn't fit the memory budget ends with an error that names it, and the process stays within it."""

import json
import subprocess
import sys
import textwrap
from typing import cast

import pytest

BUDGET = 256 << 20

#: Statements that need much more than the budget, and the operator that runs into it.
STATEMENTS = {
    "cross join": "select l.a, r.b, l.s from big l cross join big r order by l.s, r.b",
    "grouping": """
        select x, y, count(*), min(s) from (select l.a as x, r.b as y, l.s from big l cross join small r)
        group by x, y order by 3, 1 limit 5""",
    "skewed join": "select l.a, l.s, r.s from big l join big r on l.one = r.one order by l.s, r.s",
    "window": """
        select sum(a) over (partition by one order by b), s
        from (select l.one, l.a, r.b, l.s from big l cross join small r) order by 1""",
    "window of texts": """
        select listagg(repeat(s, 500)) over (partition by one) from big where a < 300""",
    "running window of texts": """
        select listagg(repeat('some text', 50000)) over (order by a) from big where a < 60""",
    "constant texts": "select listagg(repeat('some text', 50000)) from big where a < 800",
    "running window of arrays": """
        select collect_list(repeat(s, 500)) over (order by a) from big where a < 400""",
}

PROGRAM = """
    import json, sys
    import numpy, pyarrow as pa
    import sqlfront

    def memory(key):
        # Not getrusage's ru_maxrss: that begins with the peak of the process that started this one.
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) << 10 for line in status if line.startswith(key))

    connection = sqlfront.connect(memory_limit=int(sys.argv[1]))
    rows = 200_000
    numbers = numpy.random.default_rng(1).permutation(rows)
    connection.register("big", pa.table({
        "a": numbers, "b": numbers[::-1].copy(), "one": numpy.ones(rows, "i8"),
        "s": pa.array([f"some text {n}" for n in numbers.tolist()])}))
    connection.register("small", pa.table({"b": numpy.arange(100)}))
    connection.execute("select count(*), sum(a) from big join small using (b)").fetchall()
    before = memory("VmRSS")
    outcome = {}
    try:
        connection.execute(sys.argv[2], timeout=240).fetchmany(10)
    except sqlfront.OperationalError as error:
        outcome = {"message": str(error), "sqlstate": error.sqlstate}
    peak = memory("VmHWM")
    after = connection.execute("select count(*) from big where a < 10").fetchall()
    print(json.dumps({**outcome, "grown": peak - before, "after": after}))
"""


def outcome_of(sql: str) -> dict[str, object]:
    """What becomes of a statement in a process of its own."""
    program = textwrap.dedent(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-c", program, str(BUDGET), sql],
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    outcome: dict[str, object] = json.loads(done.stdout)
    assert outcome["after"] == [[10]]
    return outcome


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_query_above_the_budget_ends_with_the_named_error(name: str) -> None:
    outcome = outcome_of(STATEMENTS[name])

    message = outcome.get("message")
    assert isinstance(message, str), "the statement went through"
    assert "budget" in message or "memory" in message
    assert "MiB" in message
    assert cast("int", outcome["grown"]) <= BUDGET * 1.2


def test_a_window_of_texts_is_made_while_it_is_read() -> None:
    outcome = outcome_of("select listagg(repeat(s, 500)) over (partition by one) from big where a < 200")

    assert "message" not in outcome
    assert cast("int", outcome["grown"]) <= BUDGET / 2
