"""The calls and options that a kind of job refuses, by name."""

from collections.abc import Mapping
from typing import Final, NoReturn

from sqlfront_values.errors import NotSupportedError

_DURABLE: Final = "durable jobs (CREATE JOB, Session.submit_job)"

#: The options that a light job refuses, with the reasons.
REFUSED_OPTIONS: Final[Mapping[str, str]] = {
    "name": f"names are for {_DURABLE}",
    "processing_guarantee": "a light job is run once and is not repeated",
    "snapshot_interval": "a light job has no snapshots",
    "initial_snapshot_name": "a light job has no snapshots",
    "attachments": "a light job carries no files",
    "user_code_namespace": "the start of the members decides which code they run",
}
#: The options that have no effect on a light job, as in Hazelcast: each is about a second run of the job, or
#: about a record of the job after its end.
IGNORED_OPTIONS: Final = frozenset(
    {"auto_scaling", "suspend_on_failure", "split_brain_protection", "store_metrics_after_completion"}
)
_DEFAULTS: Final[Mapping[str, object]] = {"processing_guarantee": "none"}


def check_options(options: Mapping[str, object]) -> None:
    """Check the options by name that :meth:`.Session.submit` was given besides the job's configuration.
    Raises NotSupportedError for an option that light jobs refuse, TypeError for a name that is no option. An
    option with the value None, and the guarantee ``"none"``, ask for nothing."""
    for name, value in options.items():
        if name in IGNORED_OPTIONS:
            continue
        if name not in REFUSED_OPTIONS:
            raise TypeError(f"submit() got an unexpected keyword argument {name!r}")
        if value is not None and value != _DEFAULTS.get(name):
            raise NotSupportedError(f"a light job takes no option {name!r}: {REFUSED_OPTIONS[name]}")


def refuse(kind: str, call: str, reason: str) -> NoReturn:
    """Raise NotSupportedError for the method ``call`` of a job of the ``kind`` light or durable."""
    raise NotSupportedError(f"a {kind} job doesn't support {call}(): {reason}")
