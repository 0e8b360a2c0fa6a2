"""Durable jobs in a simulation whose tasks run on members that outlive the coordinators: the real runner and
the real service of members, with tasks of the model, and coordinators that come back after their successors
have begun."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import cast
from unittest.mock import patch

import msgspec

from sqlfront_cluster import codec
from sqlfront_cluster.durable_tasks import task_service
from sqlfront_cluster.durable_tasks.member_disk import MemberDisk, remove_leftovers
from sqlfront_cluster.durable_tasks.member_runner import MemberRunner
from sqlfront_cluster.durable_tasks.output_places import OutputNetwork, OutputPlaces
from sqlfront_cluster.durable_tasks.task_messages import AdoptRuns, JobQuestion, LearnJob
from sqlfront_cluster.durable_tasks.task_service import TaskService
from sqlfront_cluster.members.protocol.member_list import MemberInfo, MemberList
from sqlfront_cluster.members.questions.requests import Wait
from sqlfront_engine.durable.division import OutputPlace
from sqlfront_engine.durable.event_store.events import Attempt, JobEnded
from sqlfront_engine.durable.runner import Holdings, TaskEnd
from sqlfront_engine.durable.tasks import RunId, TaskRun
from sqlfront_engine.engine import Engine
from sqlfront_engine.spool.places import member_of
from sqlfront_engine.spool.reading import SpoolDamaged
from sqlfront_engine.testing import FakeClock
from sqlfront_values.decoders import make_decoder
from sqlfront_values.errors import Error, OperationalError
from sqlfront_values.settings import Settings
from tests.engine.durable.simulated_jobs import Rows, SimulatedRunner, World

LEASE = 1.0
_decode = make_decoder(JobQuestion, codec.decode_hook)


class LiveRun(msgspec.Struct, eq=False):
    """A run of a task on a member. ``is_slow``: the run goes on while many others end. ``rows``: what the run
    makes, if it has read its files. ``is_known``: no coordinator takes the run for lost."""

    run: TaskRun
    ended: Callable[[TaskEnd], None]
    is_slow: bool
    rows: Rows | None
    is_known: bool
    is_cancelled: bool = False


class SimulatedMember:
    """A member, and its engine. A restarted one has lost its runs."""

    def __init__(self, world: "MemberWorld", name: str) -> None:
        self.world, self.name = world, name
        self.workers, self.clock = 1, world.member_clock
        self.processes = 0
        self.begin()

    def kill(self) -> None:
        """End the process of the member: the system releases the lock on its outputs, which stay."""
        if any(self.files()):
            self.world.damages += 1
        if self.disk._alive is not None:
            self.disk._alive.release()

    def files(self) -> list[Path]:
        """The outputs on the member's disk."""
        made = self.disk._path
        return [] if made is None else sorted(file for file in Path(made).glob("*/*"))

    def begin(self) -> None:
        """Begin a process of the member, which has neither runs nor outputs."""
        self.processes += 1
        incarnation = f"{self.name}-{self.processes}"
        self.disk = MemberDisk(self.name, str(self.world.disks), incarnation)
        self.runs: dict[RunId, LiveRun] = {}
        #: The runs that have ended with files, as far as a coordinator can still learn of them.
        self.made: dict[RunId, TaskRun] = {}
        network = OutputNetwork(lambda questions, wait: {}, lambda: MemberList(1, (), ()))
        self.service = TaskService(cast("Engine", self), OutputPlaces(network, self.disk))
        #: The last epoch whose coordinator has announced itself.
        self.learned = 0

    def forget_runs(self) -> None:
        """Note that coordinators may learn no more of the runs here, and of what they have made."""
        self.made.clear()
        for live in self.runs.values():
            live.is_known = False

    def end_one(self) -> None:
        """Let one of the runs end, well or with an error; a slow one seldom."""
        world = self.world
        ending = world.chance.choice([*self.runs])
        if self.runs[ending].is_slow and world.chance.random() < 0.9:
            return
        live = self.runs.pop(ending)
        run = live.run
        if live.is_cancelled and world.chance.random() < 0.5:
            live.ended(TaskEnd(run, None, OperationalError("cancelled")))
        elif world.fault(0.3):
            live.ended(TaskEnd(run, None, OperationalError("the machine is out of order")))
        else:
            try:
                end = TaskEnd(run, world.write(run, world.rows(run) if live.rows is None else live.rows))
            except OperationalError as error:
                end = TaskEnd(run, None, error)
            if end.output is not None and not live.is_cancelled and live.is_known:
                self.made[run.run_id] = run
            live.ended(end)


class SimulatedThreads:
    """What runs the tasks of one job on a member."""

    def __init__(self, engine: Engine, *arguments: object, **options: object) -> None:
        self._member = cast("SimulatedMember", engine)

    def start(self, run: TaskRun, ended: Callable[[TaskEnd], None]) -> None:
        self._member.world.begun(self._member, run)
        world = self._member.world
        is_slow, rows = world.chance.random() < 0.3, None
        if is_slow:
            with suppress(SpoolDamaged):
                rows = world.rows(run)
        self._member.runs[run.run_id] = LiveRun(run, ended, is_slow, rows, is_known=not world.is_former)

    def cancel(self, run: RunId) -> None:
        if run in self._member.runs:  # else the member has been restarted
            self._member.runs[run].is_cancelled = True

    def end_threads(self) -> None:
        self._member.made.clear()


class MemberWorld(World):
    """A world with members, and with coordinators that go on although they have successors. Spool files lie
    in the current directory, so that a seed gives the same log, byte by byte, in any directory."""

    errors = (*World.errors, "knows nothing of the durable job")

    def __init__(self, folder: Path, seed: int, faults: float) -> None:
        super().__init__(folder, seed, faults)
        self.spool = "spool"
        self.disks = Path("disks").absolute()
        self.disks.mkdir()
        self.outputs = self.chance.choice([*OutputPlace])
        self.member_clock = FakeClock()
        names = [f"m{number}" for number in range(self.chance.randint(1, 3))]
        self.members = {name: SimulatedMember(self, name) for name in names}
        self.adopted = 0
        self.refused = 0
        self.retained = 0
        self._current: SimulatedMemberRunner | None = None
        self._former: list[SimulatedMemberRunner] = []
        self.is_former = False

    def run(self) -> JobEnded:
        with simulated_service(self):
            ended = super().run()
            self._end_members()
            remove_leftovers(str(self.disks))
            assert not any(self.disks.iterdir()), "outputs are left on a member's disk"
        return ended

    def runner(self, epoch: int) -> SimulatedRunner:
        self._current = SimulatedMemberRunner(self, epoch)
        return cast("SimulatedRunner", self._current)

    def crashed(self) -> None:
        """The coordinator has died; or its session was closed, and the coordinator has told the members."""
        current, self._current = self._current, None
        if current is None:
            return
        how = self.chance.random()
        if how < 0.2:
            for member in self.members.values():
                member.forget_runs()
            self.is_former = True
            current.close()
            self.is_former = False
        elif how < 0.6:
            self._former.append(current)

    def place(self, path: str) -> str:
        name = member_of(path)
        if name is None:
            return path
        member, (start, job, file) = self.members[name], path.rsplit("/", 2)
        if f"{start}/" != member.disk.url:  # another process of the member
            raise SpoolDamaged(path, "is lost", self.chance.choice(["", f"{start}/"]))
        folder = member.disk.folder(job)
        if folder is None:
            raise SpoolDamaged(path, "is missing")
        return folder.path(file)

    def present_files(self) -> list[Path]:
        outputs = [file for member in self.members.values() for file in member.files()]
        return super().present_files() + outputs

    def leave_runs(self, runner: SimulatedRunner) -> None:
        """Do nothing: the members go on with the runs."""

    def _end_members(self) -> None:
        """Let all runs end, and all leases."""
        self.faults, self.is_former = 0.0, True
        for member in self.members.values():
            member.service.keep_present(lambda name: False)
        self.member_clock.advance(2 * LEASE)
        for member in self.members.values():
            while member.runs:
                member.end_one()
            assert not member.files(), "outputs outlive their lease"
            member.service.close()

    def disturb_files(self) -> None:
        super().disturb_files()
        chance = self.chance
        if self.fault(0.3):
            member = chance.choice([*self.members.values()])
            member.kill()
            member.begin()
        if self._current is not None and self._current.late and chance.random() < 0.2:
            self._current.late.pop()()
            self._check_late(self._current)
        if chance.random() < 0.1:
            self.member_clock.advance(LEASE / 10)
        if self.crashes and chance.random() < 0.2:  # the member list changes
            assert self._current is not None
            present = self._current.member
            for member in self.members.values():
                member.service.keep_present(lambda name: name == present)
        if self._former and chance.random() < 0.2:
            self._act(chance.choice(self._former))

    def _check_late(self, runner: "SimulatedMemberRunner") -> None:
        """Check that a member that has answered late has nothing of former coordinators."""
        for name in runner._taught - runner.in_time:
            for file in self.members[name].files():
                assert f"-{runner._epoch}." in file.name, f"{file.name} is of no use"

    def _act(self, former: "SimulatedMemberRunner") -> None:
        """Let a former coordinator go on: its commands are refused by members that know its successor."""
        chance, self.is_former = self.chance, True
        match chance.choice(["ask", "start", "stop", "close", "late"]):
            case "late":
                while former.late:
                    former.late.pop()()
            case "ask":
                former._ask_all()
            case "start" if former.begun:
                run = chance.choice(former.begun)
                again = Attempt(run.attempt.epoch, run.attempt.number + 1000 + self.steps)
                former.start(msgspec.structs.replace(run, attempt=again), lambda end: None)
            case "stop":
                former.stop()
            case _:
                former.close()
        self.is_former = False

    def begun(self, member: SimulatedMember, run: TaskRun) -> None:
        """Check that a member rightly begins a run."""
        if self.is_former:
            return
        self.check_start(run)
        for other in self.members.values():
            known = [live.run for live in other.runs.values() if live.is_known and not live.is_cancelled]
            assert not any(_is_same(run, each) for each in known), "runs twice at a time"
            made = () if self.damages else other.made.values()
            assert not any(_is_same(run, each) for each in made), "what it makes is there"

    def ask(self, name: str, question: JobQuestion, content: bytes) -> bytes:
        """Ask a member's service. The question may be lost, or the answer."""
        member = self.members[name]
        try:
            if self.fault(0.2):
                raise OperationalError("the machine is out of order")
            answer = self._answered(member, question, content)
            if self.fault(0.2):
                raise OperationalError("the machine is out of order")
        except Error:
            if not self.is_former:
                member.forget_runs()
                # What the member has may be lost with the question: a coordinator that doesn't know of it
                # removes it from the store.
                self.damages += bool(
                    member.files() or (isinstance(question, LearnJob) and member.service._jobs)
                )
            raise
        return answer

    def _answered(self, member: SimulatedMember, question: JobQuestion, content: bytes) -> bytes:
        try:
            answer = member.service.answer(content)
        except OperationalError:
            self.refused += question.epoch < member.learned
            raise
        assert question.epoch >= member.learned, "a former coordinator is obeyed"
        if isinstance(question, LearnJob):
            member.learned = question.epoch
        if self.is_former:  # the member doesn't know the successor yet
            member.made.clear()
        if isinstance(question, AdoptRuns) and self._current is not None:
            others = {run.task for run in self._current._tasks.keys() - member.made.keys()}
            member.made = {run: made for run, made in member.made.items() if run.task not in others}
        return answer


class SimulatedMemberRunner(MemberRunner):
    """The runner of a coordinator, which asks the members when chance says so."""

    retry_after = 0.0

    def __init__(self, world: MemberWorld, epoch: int) -> None:
        self._world = world
        self.stopped = False
        self.begun: list[TaskRun] = []
        #: The questions to members that answer after the coordinator's wait for them.
        self.late: list[Callable[[], None]] = []
        #: The members that have answered before.
        self.in_time: set[str] = set()
        name = f"c{epoch}"
        self.coordinator = MemberInfo(name, lite=True)
        members = (*(MemberInfo(member) for member in world.members), self.coordinator)
        self.member_list = MemberList(1, members, ())
        learn = LearnJob(world.spool, epoch, name, b"", Settings(), LEASE, world.outputs)
        threads = world.chance.randint(1, 2)
        super().__init__(self, world.plan, learn, threads=threads, incarnation="i", patience=0.0)

    def _ask_on(self) -> None:
        """Do nothing: the simulation asks."""

    def ask(
        self, service: str, questions: Mapping[str, bytes], query: Wait | None = None
    ) -> Mapping[str, bytes | memoryview]:
        return {
            name: self._world.ask(name, cast("JobQuestion", _decode(content)), content)
            for name, content in questions.items()
        }

    def _begin(self, call: Callable[[], None]) -> None:
        """Ask the member now, or after the wait."""
        member = self._world.members[cast("partial[None]", call).args[0]]
        if self._world.fault():
            self.late.append(call)
            self._world.damages += bool(member.service._jobs)
            member.forget_runs()
        else:
            call()

    def retain(self, awaits: Callable[[Holdings], bool]) -> Holdings:
        held = super().retain(awaits)
        self._world.retained += len(held.sizes)
        self.in_time = {*self._found}
        return held

    def adopt(
        self,
        wants: Callable[[TaskRun], bool],
        ended: Callable[[TaskEnd], None],
        kept: Collection[str],
    ) -> None:
        super().adopt(wants, ended, kept)
        for _, run, _ in self._tasks.values():
            self._world.check_reading(run)
        self._world.adopted += len(self._tasks)

    def start(self, run: TaskRun, ended: Callable[[TaskEnd], None]) -> None:
        self.begun.append(run)
        super().start(run, ended)

    def stop(self) -> None:
        self.stopped = True
        super().stop()

    @property
    def runs(self) -> bool:
        """Whether a task can end, or a coordinator can learn of an end."""
        return bool(self._tasks) or any(member.runs for member in self._world.members.values())

    def end_one(self) -> None:
        chance = self._world.chance
        busy = [member for member in self._world.members.values() if member.runs]
        if busy and chance.random() < 0.5:
            chance.choice(busy).end_one()
        else:
            self._ask_all()


def _is_same(run: TaskRun, other: TaskRun) -> bool:
    """Whether two runs do the same."""
    return msgspec.structs.replace(run, attempt=other.attempt, outputs=other.outputs) == other


@contextmanager
def simulated_service(world: MemberWorld) -> Iterator[None]:
    """Within the block the service of a member runs tasks of the model."""
    with (
        patch.object(task_service, "ThreadRunner", SimulatedThreads),
        patch.object(task_service, "decode_dag", lambda data: None),
        patch.object(task_service, "cut", lambda dag: world.plan),
    ):
        yield
