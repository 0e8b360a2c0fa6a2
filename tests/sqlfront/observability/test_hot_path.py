"""The hot path of a session that nobody observes: no code of observers, and hardly a step for them."""

from __future__ import annotations

import linecache
import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING

import sqlfront

if TYPE_CHECKING:
    from _typeshed import TraceFunction

#: Words of the source lines that are there for observers alone.
WORDS = ("observer", "request.observation", "observation is not None", "self._reading", "self._execute(")
#: The part of a lookup's steps that such lines may be.
SHARE = 0.03

Line = tuple[str, int]


def steps(call: Callable[[], object]) -> Counter[Line]:
    """The bytecode instructions that a call runs, by file and line."""
    found: Counter[Line] = Counter()

    def trace(frame: FrameType, event: str, argument: object) -> TraceFunction:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode" and frame.f_lineno is not None:  # code of the compiler's own has no line
            found[frame.f_code.co_filename, frame.f_lineno] += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return found


def test_observers_cost_a_lookup_less_than_three_per_cent_when_there_are_none() -> None:
    with sqlfront.connect() as connection:
        connection.execute(
            "CREATE TABLE t USING memory CLUSTERED BY (k) AS SELECT id AS k, id AS v FROM range(100)"
        )
        cursor, prepared = connection.cursor(), connection.prepare("SELECT v FROM t WHERE k = ?")
        calls: list[Callable[[], object]] = [
            lambda: cursor.execute("SELECT v FROM t WHERE k = 7").fetchall(),
            lambda: cursor.execute(prepared, [7]).fetchall(),
        ]
        for call in calls:
            call()
            call()
            found = steps(call)
            total = sum(found.values())
            spent = {
                line: count
                for line, count in found.items()
                if any(word in linecache.getline(*line) for word in WORDS)
            }
            assert total > 500
            assert spent
            assert not [file for file, _ in found if "/observability/" in file and "/tests/" not in file]
            assert sum(spent.values()) < SHARE * total, spent
