"""Tables on simulated members: the sessions', members' and keeper's real code for spread tables, one thread
at a time and under a seed.

What writes waits; so each writing statement has a thread of its own, which runs only while the simulation
stands still and hands back whenever it would wait. Whoever reads is polled.
"""

import itertools
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Final, cast

import pyarrow as pa

from sqlfront.cluster.documents import ANSWER_TIMEOUT, Documents
from sqlfront.cluster.handover import Handover
from sqlfront.cluster.processes import ProcessMembers
from sqlfront.cluster.service import TableService
from sqlfront_cluster.launchers.running import RunningMember, network_settings
from sqlfront_cluster.members.membership.document_copies import PutOutcome
from sqlfront_cluster.members.membership.membership import Membership
from sqlfront_cluster.members.membership.membership_state import MembershipSettings
from sqlfront_cluster.members.protocol.document import ConditionalChange
from sqlfront_cluster.members.protocol.keeper_names import keeper_name
from sqlfront_cluster.network.tls.security import Security
from sqlfront_cluster.network.transport import Peer
from sqlfront_connectors.base import Partitioning, RowValues, ScanRequest
from sqlfront_connectors.memory.keyed_table import NewValues
from sqlfront_connectors.memory.numbered_table import NumberedTable
from sqlfront_connectors.memory.segments.share import TableShare
from sqlfront_connectors.memory.spread.documents import TABLE, decode_table, version_of
from sqlfront_connectors.memory.spread.next_version import ChangeMode, NextVersion, backed_up, reported
from sqlfront_connectors.memory.spread.processors import StoreShare
from sqlfront_connectors.memory.spread.published_table import PublishedTable
from sqlfront_connectors.memory.spread.store import TableStore
from sqlfront_connectors.memory.spread.table import SpreadTable, place_anew
from sqlfront_connectors.memory.spread.version import TableVersion
from sqlfront_connectors.memory.spread.version_keys import backup_key, share_key
from sqlfront_engine.dag import DAG, Edge
from sqlfront_engine.edges.queues import NOTHING, Polled
from sqlfront_engine.engine import Engine, JobConfig
from sqlfront_engine.jobs.light_job import LightJob
from sqlfront_engine.processor import NO_RESOURCES, Processor, ProcessorContext, Steps, Take
from sqlfront_engine.processors.registry import register_processor
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_values.errors import Error, OperationalError
from tests.cluster.members.kept import Kept

register_processor("tests.sqlfront.simulated:Stamp")

SCHEMA: Final = pa.schema([("k", pa.int64()), ("v", pa.int64())])
EVERYTHING: Final = ScanRequest((0, 1))

#: A table's rows, sorted.
Rows = tuple[tuple[int, int], ...]


class Stamp(Processor, frozen=True):
    """An UPDATE and a DELETE in one: sets ``v`` of every row, but for those with ``k % modulus == 0`` (0 = no
    such), which are left out."""

    value: int
    modulus: int = 0

    def run(self, context: ProcessorContext) -> Steps:
        while (batch := (yield Take(0))) is not None:
            yield batch_of(stamped(rows_of([batch]), self.value, self.modulus))


def stamped(rows: Rows, value: int, modulus: int) -> Rows:
    """What Stamp makes of rows."""
    return tuple((key, value) for key, _ in rows if not modulus or key % modulus)


def batch_of(rows: Rows) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array([row[place] for row in rows], pa.int64()) for place in (0, 1)], schema=SCHEMA
    )


def rows_of(batches: list[pa.RecordBatch]) -> Rows:
    return tuple(
        sorted(row for batch in batches for row in zip(*(each.to_pylist() for each in batch), strict=True))
    )


# ---- statements that wait


class Killed(BaseException):
    """The machine on which the statement ran is gone."""


_here = threading.local()


class Statement:
    """Code that waits, on a machine. It goes on in :meth:`resume` only, while its caller waits."""

    def __init__(self, machine: str, code: Callable[[], None]) -> None:
        self.machine = machine
        #: Written by the code's thread.
        self.ended = False
        self.error: BaseException | None = None
        self._code = code
        self._ready: Callable[[], object] = lambda: True
        self._killed = False
        # Each is held until it is the turn of the code, and of its caller.
        self._turns = threading.Lock(), threading.Lock()
        for turn in self._turns:
            turn.acquire()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        mine, theirs = self._turns
        mine.acquire()
        _here.statement = self
        try:
            if not self._killed:
                self._code()
        except BaseException as error:  # noqa: BLE001 - handed on to whoever looks
            self.error = error
        self.ended = True
        theirs.release()

    def wait(self, ready: Callable[[], object]) -> None:
        """Called by the code: let the simulation go on until the condition holds."""
        mine, theirs = self._turns
        self._ready = ready
        theirs.release()
        mine.acquire()
        if self._killed:
            raise Killed

    def resume(self) -> bool:
        """Run the code up to where it waits, if it can go on; True if it has."""
        if self.ended or not (self._killed or self._ready()):
            return False
        mine, theirs = self._turns
        mine.release()
        assert theirs.acquire(timeout=60), "a statement waits for something that isn't simulated"
        if not self._running():
            self._thread.join()
        return True

    def _running(self) -> bool:
        return not self.ended

    def kill(self) -> None:
        """End it wherever it waits."""
        self._killed = True
        while not self.ended:
            self.resume()


# ---- the parts of a session that wait


class WaitingDocuments(Documents):
    """The documents as a simulated session changes them."""

    town: "TableTown"

    def put(self, change: ConditionalChange, *, completes: bool = False) -> bool:
        """See :meth:`Documents.put`."""
        outcome: list[PutOutcome] = []
        self._membership.put(change, outcome.append)
        deadline = self.town.simulation.time + ANSWER_TIMEOUT
        self.town.wait(lambda: outcome or self.town.simulation.time > deadline)
        if not outcome:
            raise OperationalError("the keeper has not answered", sqlstate="08007")
        if isinstance(outcome[0], OperationalError):
            raise outcome[0]
        return outcome[0].stored

    def await_after(self, changes: int, seconds: float) -> bool:
        """See :meth:`Documents.await_after`."""
        deadline = self.town.simulation.time + seconds
        self.town.wait(lambda: self.changes != changes or self.town.simulation.time > deadline)
        return self.changes != changes


class SimulatedSession(ProcessMembers):
    """A session's tables; what it publishes is noted in its town's history first."""

    def __init__(self, town: "TableTown", running: RunningMember) -> None:
        self.town = town
        super().__init__(running)
        self.documents = WaitingDocuments(running.membership)
        self.documents.town = town
        self.name = running.membership.name
        self._tokens = itertools.count(1)
        #: Whether the job that runs, or the statement before its first job, moves rows to the new owners of
        #: their partitions; and whether it reads backups of lost shares for that.
        self.moves = self.repairs = False
        #: What the statement that runs does to the rows, and whether it appends; None = it only moves them.
        self.effect: Callable[[Rows], Rows] | None = None
        self.appends = False
        #: The versions with this effect that the statement that runs has tried to publish.
        self.tried: list[str] = []

    def _token(self) -> str:
        return f"{self.coordinator.name}.{next(self._tokens)}"

    def run(self, dag: DAG, resources: Mapping[str, object]) -> Iterator[pa.RecordBatch]:
        """See :class:`~sqlfront_connectors.memory.spread.published_table.ClusterAccess`."""
        self._begin_work(moves=any(vertex.name.startswith("scan ") for vertex in dag))
        job = self.submit(dag, JobConfig(resources=resources))
        self.town.on_job(self)
        found: list[Polled | Error] = []
        while True:
            self.town.wait(lambda: found or poll_into(job, found))
            batch = found.pop()
            if isinstance(batch, Error):
                raise batch
            if not isinstance(batch, pa.RecordBatch):
                return
            yield batch

    def publish(self, table: PublishedTable, version: TableVersion, dealt: int) -> None:
        """See :class:`~sqlfront_connectors.memory.spread.published_table.ClusterAccess`."""
        base = table.snapshot().held
        # Jobs add rows to shares that lie in place only: a version of others is placed anew before.
        placed_anew = self.appends and base.key is not None and base.known.rows == version.known.rows
        before = self.town.rows[base.key]
        assert version.key is not None
        self.town.rows[version.key] = before
        if self.effect is not None and not placed_anew:
            self.town.rows[version.key] = self.effect(before)
            self.tried.append(version.key)
        self.town.bases[version.key] = base.key
        missing = self.town.missing(version)
        super().publish(table, version, dealt)
        assert not missing, f"{version.key} was published, but {missing} lack rows"
        self.town.acknowledged.append(version.key)

    def begin(self, effect: Callable[[Rows], Rows] | None, *, appends: bool = False) -> None:
        """A statement with this effect begins; None = one that only moves rows."""
        self.effect, self.appends, self.tried = effect, appends, []
        self._begin_work(moves=effect is None)

    def _begin_work(self, *, moves: bool) -> None:
        table = self.only_table()
        present = self.member_list.data_members
        self.moves = moves
        self.repairs = moves and table is not None and not {*table.snapshot().holders} <= {*present}

    def only_table(self) -> SpreadTable | None:
        """The table, once the session has heard of it."""
        return next(iter(self._named.values()), None)


def poll_into(job: LightJob, found: list[Polled | Error]) -> bool:
    """Look for the next batch, the end or the error of a job."""
    try:
        batch = job.poll()
    except Error as error:
        found.append(error)
        return True
    if batch is not NOTHING:
        found.append(batch)
    return bool(found)


class QuietService(TableService):
    """A member's shares; nobody looks after tables whose members have gone."""

    def _look_after(self) -> None:
        pass


# ---- the town


class TableTown(Kept):
    """Members, and a session of each client, with one table."""

    def __init__(self, *names: str, seed: int, observers: Collection[str] = ()) -> None:
        #: The clients that have no place in the member list.
        self.observers = observers
        self.services: dict[str, QuietService] = {}
        self.sessions: dict[str, SimulatedSession] = {}
        self._running: dict[str, RunningMember] = {}
        #: The rows of every version that somebody tried to publish, and the version that it came from.
        self.rows: dict[str | None, Rows] = {None: ()}
        self.bases: dict[str, str | None] = {}
        #: Those whose publication was confirmed.
        self.acknowledged: list[str] = []
        #: The sessions that write, those of leaving members included, by their machines.
        self.writers: dict[str, SimulatedSession] = {}
        #: Called when a session's job to write begins; and with a member, a version's key, and the owner of a
        #: backup or None, when the member has stored a share or a backup.
        self.on_job: Callable[[SimulatedSession], None] = lambda session: None
        self.on_store: Callable[[str, str, str | None], None] = lambda member, key, owner: None
        super().__init__(*names, seed=seed)

    def add(self, name: str) -> Membership:
        """A member begins to join."""
        machine = self.simulation.machine(name)
        machine.transport.attend = self._attend  # type: ignore[method-assign]
        engine = Engine(clock=machine.clock, threads=(machine.workers, machine.workers), memory_limit=1 << 30)
        lite = name.startswith("client")
        resources: Mapping[str, object] = NO_RESOURCES
        if not lite:
            self.services[name] = QuietService()
            self._watch_store(name, self.services[name]._store)
            resources = self.services[name].resources
        membership = Membership(
            engine,
            machine.transport,
            MembershipSettings(
                keeper_name(self.epoch), "" if lite else name, lite, observes=name in self.observers
            ),
            resources,
            on_end=lambda error: self._note_end(name, error),
            locate=lambda: keeper_name(self.epoch),
        )
        self.memberships[name] = membership
        running = cast(
            RunningMember,
            SimpleNamespace(
                engine=engine,
                membership=membership,
                member=membership.member,
                network=network_settings(Security(b"simulated")),
            ),
        )
        self._running[name] = running
        if lite:
            self.sessions[name] = self.writers[name] = SimulatedSession(self, running)
        else:
            self.services[name].attach(running)
        membership.join()
        return membership

    def _watch_store(self, member: str, store: TableStore) -> None:
        stage = store.stage

        def staged(key: str, share: TableShare, owner: str | None = None) -> None:
            stage(key, share, owner)
            self.on_store(member, key, owner)

        store.stage = staged  # type: ignore[method-assign]

    def _attend(
        self, peers: Sequence[Peer], done: Callable[[], bool], send: Callable[[], None] = lambda: None
    ) -> bool:
        """Who waits for answers is a statement, too."""
        send()
        self.wait(done)
        return True

    def _note_end(self, name: str, error: OperationalError | None) -> None:
        self.ends.setdefault(name, error)

    # ---- statements

    def wait(self, ready: Callable[[], object]) -> None:
        """For the statement on whose thread this is."""
        _here.statement.wait(ready)

    def resume(self, statement: Statement) -> bool:
        """Let a statement go on, if its machine is awake and it can."""
        machine = self.simulation.machines[statement.machine]
        if not machine.alive:
            statement.kill()
            return True
        if machine.asleep_until > self.simulation.time:
            return False
        return statement.resume()

    def complete(self, statement: Statement) -> None:
        """Run a statement to its end."""

        def ended() -> bool:
            while self.resume(statement):
                pass
            return statement.ended

        assert self.run(ended, 200), "the statement hangs"
        if statement.error is not None:
            raise statement.error

    def create(self, at: str, partitioning: Partitioning | None, rows: Rows, backups: int = 0) -> None:
        """Make the table, with so many backups, and put the rows in."""
        session = self.sessions[at]
        self.complete(Statement(at, lambda: self._create(session, partitioning, backups)))
        self.simulation.pass_time(0.1)
        self.complete(self.insert(at, rows))
        self.simulation.pass_time(0.1)

    def _create(self, session: SimulatedSession, partitioning: Partitioning | None, backups: int) -> None:
        session.table("t", SCHEMA, partitioning, backups)

    def insert(self, at: str, rows: Rows, *, overwrite: bool = False) -> Statement:
        """INSERT [OVERWRITE] INTO t VALUES ..."""
        session = self.sessions[at]

        def code() -> None:
            session.begin(
                lambda before: tuple(sorted(rows if overwrite else before + rows)), appends=not overwrite
            )
            write = self._table(session).begin_insert(overwrite=overwrite)
            write.append(batch_of(rows))
            write.commit()

        return Statement(at, code)

    def update(self, at: str, value: int, modulus: int = 0) -> Statement:
        """UPDATE t SET v = value, and DELETE."""
        session = self.sessions[at]

        def code() -> None:
            session.begin(lambda before: stamped(before, value, modulus))
            table = self._table(session)
            with table.turn():
                planned = table.snapshot().scan(EVERYTHING)
                with table.next_version(ChangeMode.OVERWRITE) as version:
                    dag = updating(planned.source, Stamp(value, modulus), version)
                    version.publish(session.run(dag, planned.resources))

        return Statement(at, code)

    def change(self, at: str, keys: Sequence[int], value: int | None) -> Statement:
        """UPDATE t SET v = value WHERE k IN (...), None: DELETE; without a job where that can be done: by the
        keys alone, or, if the least key is odd, by rows that are found first."""
        session, chosen = self.sessions[at], frozenset(keys)

        def effect(before: Rows) -> Rows:
            after = [row if row[0] not in chosen else (row[0], value) for row in before]
            return tuple((key, number) for key, number in after if number is not None)

        def code() -> None:
            session.begin(effect)
            table = self._table(session)

            def find() -> list[RowValues]:
                path = NumberedTable(table).snapshot().row_path((0,), (0, 1, 2))
                if path is None:
                    return []
                found = [row for rows in path.find([(key,) for key in sorted(chosen)]) for row in rows]
                if value is None:
                    return [(key, number) for key, _, number in found]
                return [(key, value, number) for key, _, number in found]

            new = None if value is None else NewValues((1,), (value,))
            if min(chosen) % 2 or table.change_keys([(key,) for key in sorted(chosen)], new) is None:
                table.change_found(find, stores=value is not None)

        return Statement(at, code)

    def add_rows(self, at: str, rows: Rows) -> Statement:
        """INSERT INTO t VALUES ..., without a job where that can be done."""
        session = self.sessions[at]

        def code() -> None:
            session.begin(lambda before: tuple(sorted(before + rows)), appends=True)
            self._table(session).add_rows(rows)

        return Statement(at, code)

    def look_up(self, at: str, keys: Sequence[int]) -> Statement:
        """SELECT * FROM t WHERE k IN (...), without a job; AssertionError for wrong rows."""
        snapshot = self._table(self.sessions[at]).snapshot()
        path = snapshot.row_path((0,), (0, 1))

        def code() -> None:
            if path is None:
                return
            found = [sorted(rows) for rows in path.find([(key,) for key in keys])]
            there = self.rows[snapshot.held.key]
            wanted = [sorted(row for row in there if row[0] == key) for key in keys]
            assert found == wanted, f"a mix: {found}, not {wanted}"

        return Statement(at, code)

    def place_anew(self, at: str) -> Statement:
        """What a caretaker does after a loss."""
        session = self.sessions[at]

        def code() -> None:
            session.begin(None)
            place_anew(self._table(session))

        return Statement(at, code)

    def rewrite(self, at: str) -> Statement:
        """INSERT OVERWRITE t SELECT * FROM t, of a table without a partition key: rows stay where they are
        read, as planned for such a statement."""
        session = self.sessions[at]

        def code() -> None:
            session.begin(None)
            table = self._table(session)
            with table.turn(), table.next_version(ChangeMode.OVERWRITE) as version:
                planned, dag = table.snapshot().scan(EVERYTHING), DAG()
                source, store = (
                    dag.vertex("scan", planned.source, 1),
                    dag.vertex("store", version.processor, 1),
                )
                dag.edge(Edge.between(source, store).isolated())
                version.publish(session.run(reported(dag, store, version), planned.resources))

        return Statement(at, code)

    def leave(self, name: str) -> Statement:
        """SIGTERM to a member: its rows go to others, and then it leaves."""
        membership = self.memberships[name]
        session = self.writers[name] = SimulatedSession(self, self._running[name])
        store = self.services[name]._store

        def code() -> None:
            if Handover(session, membership, store.bytes_of, lambda: False).run():
                membership.leave()

        return Statement(name, code)

    def _table(self, session: SimulatedSession) -> SpreadTable:
        table = session.only_table()
        assert table is not None
        return table

    def reading(self, at: str) -> "Reading":
        """SELECT * FROM t."""
        return Reading(self, at)

    # ---- looking

    def published(self) -> TableVersion | None:
        """The table's version that the keeper knows; None = none with rows."""
        documents = self.keeper._documents.contents
        found = [decode_table(each.content) for key, each in documents.items() if key.startswith(TABLE)]
        versions = [version_of(each) for each in found if each.key is not None]
        return versions[0] if versions else None

    def missing(self, version: TableVersion) -> list[tuple[str, str]]:
        """The shares and backups of a version that members in the list lack: pairs of a member and an
        owner."""
        assert version.key is not None
        present, held = {*self.alive} & {*self.keeper.members.data_members}, dict(version.backups)
        return [
            (name, owner)
            for owner in dict.fromkeys(version.owners)
            for name in sorted(present.intersection((owner, *held.get(owner, ()))))
            if not self.services[name]._store.holds(
                share_key(version.key, owner) if name == owner else backup_key(version.key, owner)
            )
        ]

    def keys(self) -> dict[str, list[str]]:
        """The versions of which living members hold shares."""
        return {name: [*self.services[name]._store.keys_held] for name in self.alive if name in self.services}


class Reading:
    """A query in progress. ``key``: the version that it reads."""

    def __init__(self, town: TableTown, at: str) -> None:
        session = town.sessions[at]
        table = session.only_table()
        assert table is not None
        self.at = at
        self.town = town
        self.began = town.simulation.time
        self._batches: list[pa.RecordBatch] = []
        snapshot = table.snapshot()
        self.key = snapshot.held.key
        planned = snapshot.scan(EVERYTHING)
        dag = DAG()
        source = dag.vertex("scan", planned.source)
        dag.edge(Edge.between(source, dag.vertex("result", ResultSink(), 1)).to_one().distribute_to())
        self._job = session.submit(dag, JobConfig(resources=planned.resources))

    def poll(self) -> bool:
        """Look for batches; True at the end. Raises what the query failed with; AssertionError for wrong
        rows."""
        while (batch := self._job.poll()) is not NOTHING:
            if batch is None:
                found = rows_of(self._batches)
                assert found == self.town.rows[self.key], f"a mix: {found}, not {self.town.rows[self.key]}"
                return True
            self._batches.append(batch)
        return False


def updating(source: Processor, stamp: Stamp, version: NextVersion) -> DAG:
    """Rows of all members are changed and stored."""
    dag = DAG()
    scan, change = dag.vertex("scan", source), dag.vertex("stamp", stamp)
    dag.edge(Edge.between(scan, change).isolated())
    assert isinstance(version.processor, StoreShare)
    store = dag.vertex("store", version.processor, 1)
    edge = Edge.between(change, store).distributed()
    dag.edge(edge.partitioned(version.keys) if version.keys else edge)
    store = backed_up(dag, store, version)
    return dag.edge(Edge.between(store, dag.vertex("result", ResultSink(), 1)).to_one().distribute_to())
