"""How jobs end is told to whoever has asked their coordinators, in the simulation."""

import gc

import pytest

from sqlfront_cluster.members.protocol.messages import AskOutcome, Outcome
from sqlfront_cluster.members.questions.outcomes import UNKNOWN_OUTCOME, AskedOutcome, JobOutcome
from sqlfront_engine.engine import JobConfig
from sqlfront_engine.job_statistics import JobStatus
from sqlfront_engine.jobs.light_job import LightJob
from sqlfront_values.errors import DataError, OperationalError
from tests.cluster.members.cluster import Endless
from tests.cluster.members.kept import Kept
from tests.cluster.members.membership.test_membership import exchanged

EVERYBODY = ("m0", "m1", "client", "client-2", "observer", "observer-2")


def begin(kept: Kept, at: str, config: JobConfig | None = None) -> LightJob:
    job = kept.submit(exchanged(Endless()), at, config or JobConfig())
    kept.simulation.pass_time(0.02)
    return job


def coordinator_of(kept: Kept, job: LightJob) -> str:
    """The member or client that coordinates a job, as listings name it."""
    query = job._execution.query.id
    return next(
        each.coordinator
        for membership in kept.memberships.values()
        for each in membership.member.jobs()
        if each.id == query
    )


def ask(kept: Kept, at: str, job: LightJob, coordinator: str) -> AskedOutcome:
    return kept.memberships[at].member.outcomes.ask(job._execution.query.id, coordinator)


def told(kept: Kept, asked: AskedOutcome) -> JobOutcome:
    assert kept.run(asked.arrived.is_set)
    assert asked.outcome is not None
    return asked.outcome


def open_questions(kept: Kept) -> int:
    return sum(len(each.member.outcomes) for each in kept.memberships.values())


@pytest.mark.parametrize("at", ["m1", "client-2", "observer-2"])
@pytest.mark.parametrize("submitter", ["m0", "client", "observer"])
def test_whoever_asks_hears_of_a_cancellation_and_by_whom(submitter: str, at: str) -> None:
    kept = Kept(*EVERYBODY)
    job = begin(kept, submitter)
    coordinator = coordinator_of(kept, job)
    asked = ask(kept, at, job, coordinator)
    kept.simulation.pass_time(0.02)
    assert asked.outcome is None
    kept.memberships["m1"].member.cancel(job._execution.query.id, coordinator, "somebody")

    outcome = told(kept, asked)
    assert (outcome.status, outcome.cancelled_by) == (JobStatus.CANCELLED, "somebody")
    with pytest.raises(OperationalError, match="cancelled by somebody"):
        raise outcome.error or AssertionError
    kept.simulation.pass_time(1)
    assert open_questions(kept) == 0


@pytest.mark.parametrize("at", ["m1", "client-2", "observer-2"])
@pytest.mark.parametrize("submitter", ["client", "observer"])
def test_whoever_asks_hears_that_the_submitter_has_cancelled(submitter: str, at: str) -> None:
    kept = Kept(*EVERYBODY)
    job = begin(kept, submitter)
    asked = ask(kept, at, job, coordinator_of(kept, job))
    kept.simulation.pass_time(0.02)
    job._execution.query.cancel()
    outcome = told(kept, asked)
    assert (outcome.status, outcome.cancelled_by) == (JobStatus.CANCELLED, "")

    job = begin(kept, submitter, JobConfig(timeout=0.1))
    asked = ask(kept, at, job, coordinator_of(kept, job))
    outcome = told(kept, asked)
    assert (outcome.status, outcome.cancelled_by) == (JobStatus.TIMED_OUT, None)
    assert "timeout of 0.1 s" in str(outcome.error)

    job = begin(kept, submitter)
    asked = ask(kept, at, job, coordinator_of(kept, job))
    kept.simulation.pass_time(0.02)
    del job  # with its result unread
    gc.collect()
    outcome = told(kept, asked)
    assert (outcome.status, outcome.cancelled_by) == (JobStatus.CANCELLED, None)


@pytest.mark.parametrize("at", ["m1", "client-2", "observer-2"])
def test_whoever_asks_hears_of_each_end(at: str) -> None:
    kept = Kept(*EVERYBODY)
    job = begin(kept, "client", JobConfig(timeout=0.1))
    asked = ask(kept, at, job, "client")
    outcome = told(kept, asked)
    assert (outcome.status, outcome.cancelled_by) == (JobStatus.TIMED_OUT, None)
    assert isinstance(outcome.error, OperationalError)
    assert outcome.error.sqlstate == "57014"

    job = begin(kept, "client")
    asked = ask(kept, at, job, "client")
    kept.simulation.pass_time(0.02)
    job._execution.fail(DataError("a value of another type"))
    outcome = told(kept, asked)
    assert (outcome.status, str(outcome.error)) == (JobStatus.FAILED, "a value of another type")
    assert isinstance(outcome.error, DataError)

    job = kept.submit(exchanged(), "client")
    asked = ask(kept, at, job, "client")
    kept.simulation.pass_time(0.001)
    kept.read(job)
    assert told(kept, asked) == JobOutcome(JobStatus.COMPLETED)
    assert told(kept, ask(kept, at, job, "client")) == UNKNOWN_OUTCOME


@pytest.mark.parametrize("lost", ["client", "m0"])
def test_a_question_to_a_lost_member_is_given_up(lost: str) -> None:
    kept = Kept(*EVERYBODY)
    job = begin(kept, lost)
    asked = [ask(kept, at, job, lost) for at in ("m1", "client-2", "observer")]
    kept.simulation.pass_time(0.02)
    kept.kill(lost)
    assert [told(kept, each) for each in asked] == [UNKNOWN_OUTCOME] * 3
    kept.simulation.pass_time(10)
    assert sum(len(each.member.outcomes) for name, each in kept.memberships.items() if name != lost) == 0


def test_a_question_costs_a_message_and_an_answer_and_nothing_is_asked_of_strangers() -> None:
    kept = Kept(*EVERYBODY)
    job = begin(kept, "m0")
    said = len(kept.said)
    asked = ask(kept, "m1", job, "m0")
    kept.simulation.pass_time(0.02)
    job.cancel()
    told(kept, asked)
    kinds = [type(each) for _, _, each in kept.said[said:] if isinstance(each, AskOutcome | Outcome)]
    assert kinds == [AskOutcome, Outcome]
    assert told(kept, ask(kept, "m1", job, "nobody")) == UNKNOWN_OUTCOME
    kept.memberships["m1"].member.outcomes.answered("m0", Outcome(1, JobStatus.FAILED))  # a second answer


@pytest.mark.parametrize("kind", [AskOutcome, Outcome])
def test_a_lost_message_leaves_a_question_without_an_answer(kind: type) -> None:
    kept = Kept("m0", "m1")
    kept.simulation.drop = lambda sender, receiver, message: isinstance(message, kind)
    job = begin(kept, "m0")
    asked = ask(kept, "m1", job, "m0")
    kept.simulation.pass_time(0.02)
    job.cancel()
    kept.simulation.pass_time(10)
    assert asked.outcome is None
