"""Places where the processes of a cluster stop until a test lets them go on, or kills them.

A stop is two named pipes in a folder that all processes know: somebody who arrives writes into the one and
then reads from the other. Nobody stops where no test has laid pipes. The ``service`` of member processes has
stops at what a statement that writes does there; the writer, a process of its own, at what it does itself:

    python -m tests.sqlfront.stops ADDRESS SECRET     runs the statements that it reads, one a line
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Final

import sqlfront
import tests.sqlfront.held_shares  # noqa: F401 - registers a processor with the members
from sqlfront.cluster.processes import ProcessMembers
from sqlfront.cluster.service import TableService
from sqlfront_cluster.launchers.running import RunningMember
from sqlfront_cluster.members.membership.document_copies import PutOutcome
from sqlfront_cluster.members.protocol.document import ConditionalChange
from sqlfront_connectors.memory.segments.share import TableShare
from sqlfront_connectors.memory.spread.documents import TABLE
from sqlfront_connectors.memory.spread.processors import ShareScan
from sqlfront_connectors.memory.spread.store import TableStore, store_of
from sqlfront_engine.processor import ProcessorContext, Steps

#: The variable with the folder of the stops.
FOLDER: Final = "SQLFRONT_TEST_STOPS"
WRITER: Final = "writer"
#: Seconds until a stop that nobody reaches is a failure.
_PATIENCE: Final = 30.0


def arrive(who: str, step: str) -> None:
    """Stop here if a test wants it."""
    pipes = _pipes(who, step)
    try:
        there, go = os.open(pipes[0], os.O_WRONLY), os.open(pipes[1], os.O_RDONLY)
    except FileNotFoundError:
        return
    os.write(there, b"!")
    os.read(go, 1)
    os.close(there)
    os.close(go)


def _pipes(who: str, step: str) -> tuple[Path, Path]:
    folder = Path(os.environ[FOLDER])
    return folder / f"{who}.{step}.there", folder / f"{who}.{step}.go"


class Stop:
    """Where ``who`` is to stop; as a context manager it lets it go on at the end."""

    def __init__(self, who: str, step: str) -> None:
        self._what = f"{who} at {step}"
        self._paths = _pipes(who, step)
        for path in self._paths:
            os.mkfifo(path)
        self._there = os.open(self._paths[0], os.O_RDONLY | os.O_NONBLOCK)
        self._go = os.open(self._paths[1], os.O_RDWR)

    def reached(self) -> None:
        """Wait until somebody has stopped."""
        ready, _, _ = select.select([self._there], [], [], _PATIENCE)
        assert ready, f"nobody came: {self._what}"

    def go(self) -> None:
        """Let whoever comes go on."""
        for path in self._paths:
            path.unlink()
        os.write(self._go, b"!" * 100)
        os.close(self._there)
        os.close(self._go)

    def __enter__(self) -> Stop:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.go()


# ---- members


class StoppingStore(TableStore):
    """Stops at ``staging`` and ``staged``: before and after there is a share of a new version."""

    def stage(self, key: str, share: TableShare, owner: str | None = None) -> None:
        """See :meth:`~sqlfront_connectors.memory.spread.store.TableStore.stage`."""
        arrive(self.member, "staging")
        super().stage(key, share, owner)
        arrive(self.member, "staged")


class StoppingService(TableService):
    """Stops at ``published`` when it hears of a table's new version, before its keeper hears of that."""

    def __init__(self) -> None:
        super().__init__(grace=0.5)
        self._store = StoppingStore(dealt=self._dealt)
        self._store.on_stage = self._staged

    def attach(self, running: RunningMember) -> None:
        """See :meth:`~sqlfront_cluster.launchers.running.MemberService.attach`."""
        running.membership.watchers.append(
            lambda key: arrive(running.membership.name, "published") if key.startswith(TABLE) else None
        )
        super().attach(running)


def service() -> StoppingService:
    """What members do for tables; their scans of several columns, such as those of writers, stop at
    ``scanning`` with rows on their way."""
    run = ShareScan.run

    def stopping(self: ShareScan, context: ProcessorContext) -> Steps:
        batches = run(self, context)
        yield from islice(batches, 1)
        if len(self.columns) > 1:
            arrive(store_of(context).member, "scanning")
        yield from batches

    ShareScan.run = stopping  # type: ignore[method-assign,assignment]
    return StoppingService()


# ---- the writer


class Writer:
    """A process with a session of the cluster, which runs statements and stops on the way."""

    def __init__(self, address: str, secret: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", __name__, address, secret],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )

    def begin(self, statement: str) -> None:
        """Let it run a statement."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{statement}\n")
        self.process.stdin.flush()

    def outcome(self) -> tuple[str, str]:
        """SQLSTATE and message of the statement's error, two empty texts if it has none."""
        assert self.process.stdout is not None
        state, _, message = self.process.stdout.readline().rstrip("\n").partition(" ")
        return state.strip("-"), message

    def leave(self) -> None:
        """Let it end."""
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()
        self.process.wait()

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.leave()


def write(address: str, secret: str) -> None:
    """Run what comes on standard input. There are stops at ``turn``, when it is this writer's, ``submit``,
    before members hear of a statement, ``publish``, when all have their shares, ``put``, when the keeper has
    been told, and ``end``, before the turn ends."""
    with sqlfront.connect(address, secret=secret, workers=1) as connection:
        cluster = connection.session.cluster
        assert isinstance(cluster, ProcessMembers)
        _stop_after(cluster, "begin_turn", "turn")
        _stop_at(cluster, "submit", "submit")
        _stop_at(cluster, "publish", "publish")
        _stop_at(cluster, "end_turn", "end")
        put = cluster.documents._membership.put

        def putting(change: ConditionalChange, done: Callable[[PutOutcome], None]) -> int:
            request = put(change, done)
            if change.key.startswith(TABLE):
                arrive(WRITER, "put")
            return request

        cluster.documents._membership.put = putting  # type: ignore[method-assign]
        for line in sys.stdin:
            try:
                connection.execute(line)
                answer = "-"
            except sqlfront.Error as error:
                answer = f"{error.sqlstate or '?'} {error}".replace("\n", " ")
            sys.stdout.write(f"{answer}\n")
            sys.stdout.flush()


def _stop_at(cluster: ProcessMembers, method: str, step: str) -> None:
    do = getattr(cluster, method)

    def stopping(*arguments: object) -> object:
        arrive(WRITER, step)
        return do(*arguments)

    setattr(cluster, method, stopping)


def _stop_after(cluster: ProcessMembers, method: str, step: str) -> None:
    do = getattr(cluster, method)

    def stopping(*arguments: object) -> object:
        done = do(*arguments)
        arrive(WRITER, step)
        return done

    setattr(cluster, method, stopping)


if __name__ == "__main__":
    write(*sys.argv[1:])
