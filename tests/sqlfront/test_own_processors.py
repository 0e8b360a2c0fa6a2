"""DAGs with processors of a user's own on members: named by import path, where that is allowed."""

import subprocess
import sys
import threading
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar

import cloudpickle
import msgspec
import pyarrow as pa
import pytest

import sqlfront
from sqlfront import Config, Session
from sqlfront.config import Launcher
from sqlfront_cluster.codec import dags
from sqlfront_engine.dag import DAG, Edge
from sqlfront_engine.processor import Processor, ProcessorContext, Steps
from sqlfront_engine.processors import registry
from sqlfront_engine.processors.shipped_classes import ShippedClass
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_values.errors import (
    DataError,
    Error,
    InterfaceError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
)
from tests.sqlfront.own_processors import Fails, Numbers, Scaled

# One worker starts the members.
pytestmark = pytest.mark.xdist_group("own processors")

OURS = "tests.sqlfront.own_processors"


@pytest.fixture(scope="module")
def local() -> Iterator[Session]:
    """A session whose members are processes that run all code of their session."""
    with Session(config("local")) as opened:
        yield opened


@pytest.fixture(scope="module", params=["alone", "embedded", "local"])
def session(request: pytest.FixtureRequest) -> Iterator[Session]:
    if request.param == "local":
        yield request.getfixturevalue("local")
        return
    with Session(config(request.param)) as opened:
        yield opened


def config(members: str, **options: object) -> Config:
    match members:
        case "alone":
            return Config(workers=1)
        case "embedded":
            return Config(workers=1, members=3)
        case _:
            return Config(workers=1, members=3, launcher=Launcher.LOCAL, **options)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def harm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The path at which the harmful module leaves its files."""
    path = tmp_path_factory.mktemp("harm") / "file"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SQLFRONT_TEST_HARM", str(path))
        yield path


@pytest.fixture(scope="module")
def strict(harm: Path) -> Iterator[Session]:
    """A session whose members run one module of the user's processors, and no other code of users."""
    with Session(config("local", allow_user_code=False, processor_modules=[OURS])) as opened:
        yield opened


def chain(*processors: Processor) -> DAG:
    """A DAG of the processors, one behind the other, and the result."""
    dag = DAG()
    before = None
    for number, processor in enumerate(processors):
        vertex = dag.vertex(f"v{number}", processor, 2)
        if before is not None:
            dag.edge(Edge.between(before, vertex))
        before = vertex
    assert before is not None
    dag.edge(Edge.between(before, dag.vertex("result", ResultSink())).to_one().distribute_to())
    return dag


def answer(session: Session, dag: DAG) -> list[int]:
    job = session.submit(dag)
    return sorted(number for batch in job.batches() for number in batch.column(0).to_pylist())


def failure(session: Session, dag: DAG) -> Error:
    with pytest.raises(Error) as caught:
        answer(session, dag)
    return caught.value


def test_processors_of_ones_own_run_on_all_members(session: Session) -> None:
    assert answer(session, chain(Numbers(100))) == list(range(100))
    dag = chain(Numbers(10, order="down"), Scaled((1, 10), pause=0.001))
    assert answer(session, dag) == sorted([*range(10), *range(0, 100, 10)])
    assert answer(session, dag) == sorted([*range(10), *range(0, 100, 10)])


def test_the_parameters_are_those_of_each_run(session: Session) -> None:
    assert answer(session, chain(Numbers(3))) == [0, 1, 2]
    assert answer(session, chain(Numbers(5))) == [0, 1, 2, 3, 4]


def test_the_error_of_a_processor_has_the_users_traceback(session: Session) -> None:
    error = failure(session, chain(Fails()))
    assert isinstance(error, DataError)
    assert f"vertex 'v0', processor {OURS}:Fails: ValueError: a user's mistake" in str(error)
    notes = "\n".join(error.__notes__)
    assert "own_processors.py" in notes
    assert "in mistake" in notes
    assert error.vertex == "v0"
    assert error.member is not None


def test_a_failure_of_the_environment_is_an_operational_error(session: Session) -> None:
    error = failure(session, chain(Fails("file")))
    assert isinstance(error, OperationalError)
    assert "FileNotFoundError: no such thing" in str(error)


@pytest.mark.parametrize(
    "processor",
    [Numbers("3"), Numbers(3, order="sideways"), Scaled((1, "2")), Numbers(object())],  # type: ignore[arg-type]
)
def test_a_parameter_of_another_type_is_refused_at_the_submission(
    session: Session, processor: Processor
) -> None:
    with pytest.raises(InterfaceError, match=f"vertex 'v0', processor {OURS}:"):
        session.submit(chain(processor))


# ---- classes that members can't import


def local_class(value: int) -> Processor:
    class Local(Processor, frozen=True):
        def run(self, context: ProcessorContext) -> Steps:
            if context.global_index == 0:
                yield pa.RecordBatch.from_pydict({"n": [value]})

    return Local()


def classes_with_everything() -> tuple[Any, Any]:
    """A class of processors and a class of its parameter, which other processes can't import: with a base
    class, defaults, a check, and methods that refer to each other and to the classes."""

    class Rule(msgspec.Struct, frozen=True):
        by: Annotated[int, msgspec.Meta(le=1000)]
        times: list[int] = msgspec.field(default_factory=lambda: [1])

        @property
        def factors(self) -> list[int]:
            return [self.by * each for each in self.times]

    class Base(Processor, frozen=True):
        cooperative: ClassVar[bool] = False

        rule: Rule

        def __post_init__(self) -> None:
            if self.rule.by < 1:
                raise ValueError("a rule with nothing to do")

        def begin(self) -> int:
            return 0

    class Everything(Base, frozen=True, kw_only=True):
        """Multiples of the first numbers."""

        shift: int = 1
        end: int

        def begin(self) -> int:
            return super().begin() + self.shift

        @staticmethod
        def batch(numbers: list[int]) -> pa.RecordBatch:
            return pa.RecordBatch.from_pydict({"n": numbers})

        def run(self, context: ProcessorContext) -> Steps:
            assert isinstance(self, Everything)
            assert not context.global_index or context.member_count > 1 or context.local_parallelism > 1
            if context.global_index == 0:
                numbers = range(self.begin(), self.end)
                yield Everything.batch([n * factor for n in numbers for factor in self.rule.factors])

    return Everything, Rule


def test_a_class_of_a_function_runs_on_all_members(session: Session) -> None:
    everything, rule = classes_with_everything()
    assert answer(session, chain(everything(rule=rule(3, [1, 10]), end=3))) == [3, 6, 30, 60]
    assert answer(session, chain(everything(rule=rule(3), end=4, shift=2))) == [6, 9]
    assert answer(session, chain(local_class(1))) == [1]
    with pytest.raises(InterfaceError, match="vertex 'v0', processor"):
        session.submit(chain(everything(rule=rule(3), end="3")))
    with pytest.raises(ValueError, match="a rule with nothing to do"):
        everything(rule=rule(0), end=1)


PROGRAM = """
from __future__ import annotations
from typing import ClassVar
import pyarrow as pa
from sqlfront import Config, Session
from sqlfront.config import Launcher
from sqlfront_engine.dag import DAG, Edge
from sqlfront_engine.processor import Processor, ProcessorContext, Steps
from sqlfront_engine.processors.sink import ResultSink

class Squares(Processor, frozen=True):
    cooperative: ClassVar[bool] = False
    count: int
    offsets: tuple[int, ...] = (0,)

    def run(self, context: ProcessorContext) -> Steps:
        for n in range(context.global_index, self.count, context.total_parallelism):
            yield pa.RecordBatch.from_pydict({"n": [square(n) + each for each in self.offsets]})

def square(n: int) -> int:
    return n * n

if __name__ == "__main__":
    dag = DAG()
    edge = Edge.between(dag.vertex("squares", Squares(4, (0, 100)), 1), dag.vertex("result", ResultSink()))
    dag.edge(edge.to_one().distribute_to())
    with Session(Config(workers=1, members=2, launcher=Launcher.LOCAL)) as session:
        batches = session.submit(dag).batches()
        print(sorted(n for batch in batches for n in batch["n"].to_pylist()))
"""


def test_a_class_of_the_program_itself_runs_on_members(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    ran = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, check=False, timeout=60
    )
    assert (ran.stdout, ran.returncode) == ("[0, 1, 4, 9, 100, 101, 104, 109]\n", 0), ran.stderr


def test_a_class_is_sent_with_what_it_refers_to_at_the_time(local: Session) -> None:
    refers = {"n": 1}

    class Refers(Processor, frozen=True):
        def run(self, context: ProcessorContext) -> Steps:
            if context.global_index == 0:
                yield pa.RecordBatch.from_pydict({"n": [refers["n"]]})

    assert answer(local, chain(Refers())) == [1]
    refers["n"] = 2
    assert answer(local, chain(Refers())) == [2]


def test_the_error_of_a_class_that_was_sent_names_it(local: Session) -> None:
    class Broken(Processor, frozen=True):
        def run(self, context: ProcessorContext) -> Steps:
            if context.global_index >= 0:
                raise ValueError("a user's mistake")
            yield pa.RecordBatch.from_pydict({"n": [1]})

    error = failure(local, chain(Broken()))
    assert isinstance(error, DataError)
    assert "<locals>.Broken: ValueError: a user's mistake" in str(error)
    assert "in run" in "\n".join(error.__notes__)


def test_a_class_that_cannot_be_sent_says_why(local: Session) -> None:
    lock = threading.Lock()

    class Locked(Processor, frozen=True):
        def run(self, context: ProcessorContext) -> Steps:
            with lock:
                yield pa.RecordBatch.from_pydict({"n": [1]})

    with pytest.raises(
        InterfaceError, match=r"Locked can't be sent to other members: TypeError: cannot pickle"
    ):
        local.submit(chain(Locked()))
    assert answer(local, chain(Numbers(3))) == [0, 1, 2]


def test_a_class_that_needs_a_module_which_a_member_lacks_is_an_error_by_name(local: Session) -> None:
    module = types.ModuleType("also_only_here")
    module.__dict__["value"] = 3
    sys.modules["also_only_here"] = module

    class Needs(Processor, frozen=True):
        def run(self, context: ProcessorContext) -> Steps:
            yield pa.RecordBatch.from_pydict({"n": [module.value]})

    try:
        error = failure(local, chain(Needs()))
    finally:
        del sys.modules["also_only_here"]
    assert isinstance(error, OperationalError)
    assert "can't be loaded on member local-" in str(error)
    assert "ModuleNotFoundError: No module named 'also_only_here'" in str(error)


def test_a_class_that_comes_with_its_code_is_refused_where_none_may_run(strict: Session) -> None:
    error = failure(strict, chain(local_class(1)))
    assert isinstance(error, NotSupportedError)
    assert "doesn't run on member local-" in str(error)
    assert "--allow-user-code" in str(error)


def test_bytes_that_are_no_class_of_processors_are_refused(local: Session, strict: Session) -> None:
    no_processor, no_pickle = ShippedClass(cloudpickle.dumps(dict)), ShippedClass(b"no pickle")
    for tag, text in [(no_processor, "is none on"), (no_pickle, "can't be loaded on")]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(dags, "tag_of", lambda each, tag=tag, **_: tag)
            dag = chain(Numbers(3))
            dag.lock()
            assert text in str(failure(local, dag))
            assert "comes with its code" in str(failure(strict, dag))


def test_members_in_this_process_run_a_class_that_was_defined_again() -> None:
    with Session(config("embedded")) as session:
        assert answer(session, chain(local_class(1))) == [1]
        assert answer(session, chain(local_class(2))) == [2]


def test_a_module_that_a_member_lacks_is_named_with_the_member(local: Session) -> None:
    module = types.ModuleType("only_here")
    only_here = type("Lonely", (Numbers,), {"__module__": "only_here", "__qualname__": "Lonely"}, frozen=True)
    module.__dict__["Lonely"] = only_here
    sys.modules["only_here"] = module
    try:
        error = failure(local, chain(only_here(3)))
    finally:
        del sys.modules["only_here"]
    assert isinstance(error, OperationalError)
    assert "only_here:Lonely can't be imported on member local-" in str(error)
    assert "ModuleNotFoundError: No module named 'only_here'" in str(error)


# ---- members that import what is allowed


def test_an_allowed_module_runs_where_other_code_does_not(strict: Session) -> None:
    assert answer(strict, chain(Numbers(10), Scaled((2,)))) == list(range(0, 20, 2))


def test_a_module_that_is_not_allowed_is_not_imported(strict: Session, harm: Path) -> None:
    from tests.sqlfront.harmful_module import Harm

    before = set(harm.parent.iterdir())
    error = failure(strict, chain(Harm()))
    assert isinstance(error, NotSupportedError)
    assert "tests.sqlfront.harmful_module:Harm doesn't run on member local-" in str(error)
    assert "--processor-module" in str(error)
    assert set(harm.parent.iterdir()) == before


@pytest.mark.parametrize(
    ("path", "kind", "text"),
    [
        ("os:system", NotSupportedError, "doesn't run"),
        ("antigravity:fly", NotSupportedError, "doesn't run"),
        ("tests.sqlfront.harmful_module:Harm", NotSupportedError, "doesn't run"),
        ("tests.sqlfront:own_processors.Numbers", NotSupportedError, "doesn't run"),
        (f"{OURS}x:Numbers", NotSupportedError, "doesn't run"),
        (f"{OURS}/../harmful_module:Harm", NotSupportedError, "doesn't run"),
        (":Numbers", NotSupportedError, "doesn't run"),
        ("__main__:main", NotSupportedError, "doesn't run"),
        (f"{OURS}:Missing", OperationalError, "can't be imported"),
        (f"{OURS}:", OperationalError, "can't be imported"),
        (f"{OURS}:Numbers:Numbers", OperationalError, "can't be imported"),
        (f"{OURS}.missing:Numbers", OperationalError, "can't be imported"),
        (f"{OURS}..x:Numbers", OperationalError, "can't be imported"),
        (f"{OURS}:time.sleep", OperationalError, "is no class of processors"),
        (f"{OURS}:Holder", OperationalError, "is no class of processors"),
        (f"{OURS}:Take", OperationalError, "is no class of processors"),
        (f"{OURS}:Renamed", OperationalError, "is another name of"),
        (f"{OURS}:Processor", OperationalError, "is another name of"),
        (f"{OURS}:{'x' * 100_000}", OperationalError, "can't be imported"),
    ],
)
def test_hostile_paths_are_refused_by_the_member(
    strict: Session, monkeypatch: pytest.MonkeyPatch, path: str, kind: type[Error], text: str
) -> None:
    honest = registry.tag_of
    monkeypatch.setattr(dags, "tag_of", lambda each, **_: path if isinstance(each, Numbers) else honest(each))
    error = failure(strict, chain(Numbers(3)))
    assert type(error) is kind
    assert text in str(error)
    assert "on member local-" in str(error)
    assert len(str(error)) < 2000


def test_hostile_parameters_are_refused_by_the_member(
    strict: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = registry.tag_of
    monkeypatch.setattr(
        dags, "tag_of", lambda each, **_: f"{OURS}:Scaled" if isinstance(each, Numbers) else honest(each)
    )
    error = failure(strict, chain(Numbers(3)))
    assert isinstance(error, OperationalError)
    assert error.sqlstate == "08P01"


@pytest.mark.parametrize("modules", ["ours", ["a-b"], [""], ["a..b"], ["a:b"], ["a", "*"]])
def test_the_modules_of_a_configuration_are_names(modules: list[str]) -> None:
    with pytest.raises(ProgrammingError, match="processor_modules"):
        Config(processor_modules=modules)


def test_a_client_cannot_allow_modules_of_a_cluster() -> None:
    with pytest.raises(ProgrammingError, match="cluster start --processor-module"):
        Config(cluster="sqlfront://", processor_modules=["ours"])


def test_connect_takes_the_modules() -> None:
    with sqlfront.connect("sqlfront:?processor_modules=ours,theirs.sources") as connection:
        assert connection.session.config.processor_modules == ("ours", "theirs.sources")
