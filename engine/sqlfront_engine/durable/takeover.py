"""The beginning of a coordinator's epoch: a new job, or a job whose coordinator is gone."""

from sqlfront_engine.durable.event_store.event_log import EventLog
from sqlfront_engine.durable.event_store.events import JobSubmitted
from sqlfront_engine.durable.event_store.job_store import EpochClaim
from sqlfront_engine.durable.event_store.settings import LogSettings
from sqlfront_engine.durable.files import sizes_of
from sqlfront_engine.durable.held_outputs import recorded_sizes
from sqlfront_engine.durable.job_state import JobState
from sqlfront_engine.durable.plan_changes import replanned
from sqlfront_engine.durable.recovery import Reset, reset_after_loss
from sqlfront_engine.durable.stages import StagePlan
from sqlfront_engine.spool.places import is_on_member


def submit(
    claim: EpochClaim, submitted: JobSubmitted, *, incarnation: str, settings: LogSettings
) -> tuple[EventLog, JobState]:
    """Begin the first epoch of a new job: write the event ``submitted`` to the job's log. Returns the log
    and the job's state; the event is durable then, so that the job survives its coordinator. ``incarnation``:
    the unique id of this process. Raises OperationalError if the log can't be written, or if another member
    has claimed a later epoch."""
    log = claim.start(incarnation=incarnation, settings=settings)
    log.append_durably(submitted)
    state = JobState([submitted])
    state.epoch = log.epoch
    return log, state


def take_over(
    claim: EpochClaim, plan: StagePlan, folder: str, *, incarnation: str, settings: LogSettings
) -> tuple[EventLog, JobState]:
    """Begin the next epoch of a job whose coordinator is gone, and return the job's log and state. ``plan``:
    the plan of the job's creation. The first record of the epoch names the finished tasks, and those that
    have to run again, since a spool file in ``folder`` (a directory or URL) that is still needed is lost.
    Tasks that still run on members, and outputs on members' own disks, are left to the coordinator, which
    asks the members. ``incarnation``: the unique id of this process. Raises OperationalError if the files
    can't be listed, if the log can't be written, or if another member has claimed a later epoch."""
    state = JobState.of(claim.replay)
    reset = Reset()
    if state.ended is None:
        sizes = {**recorded_sizes(state, is_on_member), **sizes_of(folder)}
        reset = reset_after_loss(replanned(plan, state.changes), state, sizes)
    state.forget(reset.tasks)
    accepted = state.accepted()
    log = claim.start(incarnation=incarnation, finished=accepted, reset=reset.in_order, settings=settings)
    state.epoch, state.restored = log.epoch, len(accepted)
    return log, state
