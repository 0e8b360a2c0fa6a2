"""The options of a durable job: OPTIONS of CREATE JOB.

The names are those of Flink's options where Flink has the option.
"""

import re
from collections.abc import Mapping
from enum import Enum
from typing import Final

import msgspec

from sqlfront_engine.durable.division import JobOptions, OutputPlace
from sqlfront_engine.durable.event_store.settings import FailurePolicy, LogSettings
from sqlfront_planner.binder.names.shown_names import nearest_words
from sqlfront_values.errors import ProgrammingError

_SIZE: Final = re.compile(r"([0-9]{1,18})\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
_FACTORS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_DURATION: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*(ms|s|min|h)?", re.IGNORECASE)
_SECONDS: Final = {"ms": 0.001, "s": 1.0, "min": 60.0, "h": 3600.0}


class JobSettings(msgspec.Struct, frozen=True):
    """The settings of a durable job: ``tasks`` for running its tasks, ``log`` for writing its log."""

    tasks: JobOptions = JobOptions()
    log: LogSettings = LogSettings()


class JobOption(msgspec.Struct, frozen=True):
    """An option of CREATE JOB. ``name``: the name that a user writes. ``field``: the name of the field that
    takes the value, a field of :class:`LogSettings` if ``of_log``, else of :class:`JobOptions`. ``kind``: the
    kind of value: count, size (in bytes), duration (in seconds), switch or choice. ``least`` and ``most``:
    the smallest and the largest value. ``meaning``: a text for the docs. ``choice``: the values of an option
    of the kind choice."""

    name: str
    field: str
    kind: str
    least: float
    most: float
    meaning: str
    of_log: bool = False
    choice: type[Enum] | None = None

    def value(self, text: str) -> object:
        """Return the value that a user's text means for this option. Raises ProgrammingError for a text that
        isn't a value of the option's kind, and for a value out of bounds."""
        if self.choice is not None:
            return self._chosen(self.choice, text)
        value = _parsed(self.kind, text)
        if value is None or not self.least <= value <= self.most:
            raise ProgrammingError(f"the option {self.name} of a job takes {self.expected}, not {text!r}")
        return value

    def _chosen(self, choice: type[Enum], text: str) -> Enum:
        for value in choice:
            if value.value == text.lower():
                return value
        raise ProgrammingError(f"the option {self.name} of a job takes {self.expected}, not {text!r}")

    @property
    def expected(self) -> str:
        """The values that the option takes, in words."""
        if self.choice is not None:
            return " or ".join(value.value for value in self.choice)
        if self.kind == "switch":
            return "true or false"
        unit = {"count": "", "size": " bytes", "duration": " seconds (or with ms, min, h)"}
        return f"{self._shown(self.least)} to {self._shown(self.most)}{unit[self.kind]}"

    @property
    def default(self) -> str:
        """The default value, written as a text that the option takes."""
        settings = LogSettings() if self.of_log else JobOptions()
        value = getattr(settings, self.field)
        if isinstance(value, bool):
            return str(value).lower()
        return str(value.value) if isinstance(value, Enum) else self._shown(value)

    def _shown(self, value: float) -> str:
        if self.kind != "size" or value == 0:
            return f"{value:g}"
        unit = max(
            (unit for unit, factor in _FACTORS.items() if value % factor == 0), key=_FACTORS.__getitem__
        )
        return f"{int(value) // _FACTORS[unit]}{unit}"


#: All options of CREATE JOB.
JOB_OPTIONS: Final = (
    JobOption(
        "parallelism",
        "parallelism",
        "count",
        1,
        10_000,
        "the most tasks of a stage, unless tasks need more memory than they have",
    ),
    JobOption(
        "buckets", "buckets", "count", 1, 10_000, "the fewest parts into which a task divides rows by key"
    ),
    JobOption("task-size", "task_size", "size", 1, 1 << 50, "bytes of input that are worth a task"),
    JobOption(
        "adaptive",
        "adaptive",
        "switch",
        0,
        1,
        "true: the sizes of the rows that were written may change the plan of a running job",
    ),
    JobOption(
        "broadcast-size",
        "broadcast_size",
        "size",
        0,
        1 << 40,
        "bytes of a join's held rows up to which each task reads them all, to save an exchange of the others",
    ),
    JobOption("attempts", "attempts", "count", 1, 1000, "the runs of a task until its failure fails the job"),
    JobOption(
        "lease",
        "lease",
        "duration",
        0,
        86_400,
        "time for which members go on with the tasks of a coordinator that is gone",
    ),
    JobOption(
        "speculation",
        "speculation",
        "switch",
        0,
        1,
        "true: a task that runs for 5 s, and twice as long as others of its stage, gets a second attempt",
    ),
    JobOption(
        "outputs",
        "outputs",
        "choice",
        0,
        0,
        "where members in processes of their own put the rows between stages: in the store, or on their own"
        " disks",
        choice=OutputPlace,
    ),
    JobOption(
        "execution.batch.job-recovery.previous-worker.recovery.timeout",
        "recovery_timeout",
        "duration",
        0,
        86_400,
        "time for which a successor waits at most until the members have said what they run and hold",
    ),
    JobOption(
        "job-event.store.write-buffer.size",
        "buffer_size",
        "size",
        1024,
        1 << 30,
        "bytes of records that nobody waits for, kept in memory",
        of_log=True,
    ),
    JobOption(
        "job-event.store.write-buffer.flush-interval",
        "flush_interval",
        "duration",
        0.001,
        3600,
        "time until such records are written",
        of_log=True,
    ),
    JobOption(
        "job-event.store.group-window",
        "group_window",
        "duration",
        0,
        60,
        "time in which records share one fsync",
        of_log=True,
    ),
    JobOption(
        "job-event.store.failure-policy",
        "policy",
        "choice",
        0,
        0,
        "fail: a log that can't be written ends the job; unprotected: the job goes on without its log",
        of_log=True,
        choice=FailurePolicy,
    ),
)
_BY_NAME: Final = {option.name: option for option in JOB_OPTIONS}


def job_settings(options: Mapping[str, str]) -> JobSettings:
    """Return the settings that the options of CREATE JOB give. Raises ProgrammingError for an unknown option,
    an option that is given twice, or a value out of range.

    >>> job_settings({"Task-Size": "1m", "job-event.store.group-window": "20 ms"}).log.group_window
    0.02
    >>> settings = job_settings({"adaptive": "True", "speculation": "true"}).tasks
    >>> settings.adaptive, settings.speculation
    (True, True)
    """
    given: dict[bool, dict[str, object]] = {False: {}, True: {}}
    for name, text in options.items():
        option = _BY_NAME.get(name.lower())
        if option is None:
            nearest = nearest_words(name, tuple(_BY_NAME))[0]
            raise ProgrammingError(
                f"{name!r} is no option of a job; did you mean {nearest!r}? Known: {', '.join(_BY_NAME)}"
            )
        if option.field in given[option.of_log]:
            raise ProgrammingError(f"the option {option.name} of a job is given twice")
        given[option.of_log][option.field] = option.value(text.strip())
    return JobSettings(
        msgspec.structs.replace(JobOptions(), **given[False]),
        msgspec.structs.replace(LogSettings(), **given[True]),
    )


def with_defaults(options: Mapping[str, str], defaults: Mapping[str, str | float]) -> dict[str, str]:
    """Return the options of a job, and the ``defaults`` for those that the job doesn't give; the values as
    texts. Names are found in any letter case.

    >>> with_defaults({"Lease": "1 min"}, {"lease": 5, "parallelism": 4})
    {'parallelism': '4', 'Lease': '1 min'}
    """
    given = {name.lower() for name in options}
    return {name: str(value) for name, value in defaults.items() if name.lower() not in given} | dict(options)


def _parsed(kind: str, text: str) -> float | None:
    match kind:
        case "count":
            return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else None
        case "size":
            size = _SIZE.fullmatch(text)
            return int(size[1]) * _FACTORS[size[2].lower()] if size else None
        case "switch":
            return {"true": True, "false": False}.get(text.lower())
        case _:
            found = _DURATION.fullmatch(text)
            return float(found[1]) * _SECONDS[(found[2] or "s").lower()] if found else None
