"""Light jobs with DAGs and options of wrong types: refused by name before anything is sent."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sqlfront import Config, Session
from sqlfront_engine.dag import DAG, Edge
from sqlfront_engine.engine import JobConfig
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_engine.processors.sources.range import Range
from sqlfront_values.errors import InterfaceError, ProgrammingError
from tests.sqlfront.test_light_jobs import numbers, values


@pytest.fixture(scope="module", params=[None, 3], ids=["one member", "three members"])
def session(request: pytest.FixtureRequest) -> Iterator[Session]:
    with Session(Config(members=request.param, workers=1)) as opened:
        yield opened


#: Options of wrong types, or out of their ranges, and what an error says of each.
ODD_OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"parallelism": 1.5}, r"parallelism must be of the type int \| None, not float"),
    ({"timeout": True}, "timeout must be of the type"),
    ({"description": 3}, "description must be of the type str, not int"),
    ({"memory_limit": 1 << 70}, "memory_limit must be at most 9223372036854775807"),
    ({"memory_limit": 0}, "memory_limit must be at least 1, not 0"),
    ({"partition_count": 10**9}, "partition_count must be at most 100000"),
    ({"required_partitions": 3}, "required_partitions must be of the type"),
    ({"required_partitions": ["a"]}, "required_partitions must be of the type"),
    ({"required_members": "one"}, "required_members must be of the type"),
    ({"settings": 3}, "settings must be of the type Settings, not int"),
    ({"resources": 3}, "resources must be of the type Mapping, not int"),
    ({"query": 3}, "query must be of the type .*QueryRun .*, not int"),
]


@pytest.mark.parametrize(("options", "message"), ODD_OPTIONS, ids=[str(each) for each, _ in ODD_OPTIONS])
def test_options_of_wrong_types_are_refused_by_name(
    session: Session, options: dict[str, Any], message: str
) -> None:
    """Another process would break off the connection because of a malformed message."""
    with pytest.raises(ProgrammingError, match=message):
        session.submit(numbers(), JobConfig(**options))


def test_partitions_and_members_may_be_given_as_lists(session: Session) -> None:
    config = JobConfig(required_partitions=[1, 2], required_members=[])  # type: ignore[arg-type]
    assert values(session.submit(numbers(), config)) == {0, 1, 2}


#: A DAG with something of a wrong type, by the odd thing, and what an error says.
ODD_DAGS: dict[str, tuple[Callable[[Edge], Edge], dict[str, Any], str]] = {
    "count": (lambda edge: edge, {"count": 1.5}, "vertex 'numbers', processor .*Range: .*got `float`"),
    "name": (lambda edge: edge, {"name": 3}, "vertex 3: name must be of the type str, not int"),
    "parallelism": (lambda edge: edge, {"parallelism": True}, "local_parallelism must be of the type int"),
    "priority": (lambda edge: edge.priority(1.5), {}, "-> 'result': input_priority must be of"),  # type: ignore[arg-type]
    "queue": (lambda edge: edge.queue_size(1.5), {}, "queue_size must be of the type int, not float"),  # type: ignore[arg-type]
    "target": (lambda edge: edge.distribute_to(3), {}, "target_member must be of the type str"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("odd", ODD_DAGS)
def test_a_dag_with_values_of_wrong_types_is_refused_by_name(session: Session, odd: str) -> None:
    change, given, message = ODD_DAGS[odd]
    dag = DAG()
    name, count = given.get("name", "numbers"), given.get("count", 3)
    source = dag.vertex(name, Range(0, 1, count), given.get("parallelism", 1))
    dag.edge(change(Edge.between(source, dag.vertex("result", ResultSink())).to_one().distribute_to()))
    with pytest.raises(InterfaceError, match=message):
        session.submit(dag)
