"""The memory that a job may hold on each of its members, in the simulation."""

import pytest

from sqlfront_engine.dag import DAG, Edge, OnlyOn
from sqlfront_engine.engine import JobConfig
from sqlfront_engine.processor import Processor, ProcessorContext, Steps
from sqlfront_engine.processors.registry import register_processor
from sqlfront_engine.processors.sink import ResultSink
from sqlfront_values.errors import OperationalError
from tests.cluster.members.kept import Kept
from tests.engine.jobs import numbers

LIMIT = 1 << 20


class Holds(Processor, frozen=True):
    """A source of one row, for which it holds `size` bytes."""

    size: int

    def run(self, context: ProcessorContext) -> Steps:
        context.memory.charge(self.size)
        yield numbers(7)


register_processor(f"{__name__}:Holds")


def holding(size: int, member: str) -> DAG:
    """A job that holds so many bytes on the member."""
    dag = DAG()
    source = dag.vertex("holds", Holds(size), 1, OnlyOn(member))
    return dag.edge(Edge.between(source, dag.vertex("result", ResultSink(), 1)).to_one().distribute_to())


def config_of(kept: Kept, submitter: str, way: str) -> JobConfig:
    """The options of a job with a limit, given for the job itself or for its query."""
    if way == "job":
        return JobConfig(memory_limit=LIMIT)
    return JobConfig(query=kept.memberships[submitter].member.engine.begin_query(LIMIT))


@pytest.mark.parametrize("way", ["job", "query"])
@pytest.mark.parametrize("submitter", ["m0", "client", "observer"])
def test_every_member_has_the_limit_of_the_query(submitter: str, way: str) -> None:
    kept = Kept("m0", "m1", "m2", submitter) if submitter != "m0" else Kept("m0", "m1", "m2")
    for member in ("m1", "m2"):  # one of them may coordinate the observer's job
        fits = kept.submit(holding(LIMIT, member), submitter, config_of(kept, submitter, way))
        assert kept.read(fits) == [7]
        too_much = kept.submit(holding(LIMIT + 1, member), submitter, config_of(kept, submitter, way))
        with pytest.raises(OperationalError, match=r"limit of 1 MiB"):
            kept.read(too_much)


@pytest.mark.parametrize("submitter", ["m0", "client", "observer"])
def test_without_a_limit_members_have_their_own(submitter: str) -> None:
    """The submitter's process may have less memory than the members."""
    kept = Kept("m0", "m1", "m2", submitter) if submitter != "m0" else Kept("m0", "m1", "m2")
    engine = kept.memberships[submitter].member.engine
    engine.memory.limit = LIMIT
    for member in ("m1", "m2"):
        config = JobConfig(query=engine.begin_query())
        assert kept.read(kept.submit(holding(LIMIT + 1, member), submitter, config)) == [7]
