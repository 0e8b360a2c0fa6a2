"""Log lines about statements: slow ones by the logger ``sqlfront.slow_query``; failed and cancelled ones by
``sqlfront.queries``. A statement has at most one line."""

import logging
from typing import Final

from sqlfront.observability.masking import masked, masked_reason
from sqlfront.observability.observation import Observation, StatementState

SLOW: Final = logging.getLogger("sqlfront.slow_query")
FAILED: Final = logging.getLogger("sqlfront.queries")

#: The fields in ``extra`` of each line, each with its meaning.
FIELDS: Final = (
    ("query_id", "The statement's id, as in `sys.queries`."),
    ("query_text", "The statement's text, with `?` for literals."),
    ("query_state", "`finished`, `closed`, `failed`, `cancelled` or `timed out`."),
    ("query_lane", "The lane; empty if the statement failed before its way was decided."),
    ("query_reason", "The reason for the lane."),
    ("query_seconds", "Seconds that sqlfront has worked on the statement: the sum of the phases."),
    ("query_phases", "A mapping of `parse`, `plan`, `wait`, `run` and `fetch` to seconds."),
    ("query_rows_read", "Rows that the statement read from tables; None if it read none."),
    ("query_rows_given", "Rows that the reader got."),
    ("query_rows_written", "Rows that the statement wrote; None if it writes none."),
    ("query_memory_peak", "Bytes that operators held at most; None without jobs."),
    ("query_error", "Spark's condition of the error, or the name of its class; empty without an error."),
    ("query_sqlstate", "The SQLSTATE of the error; empty without one."),
)


class StatementLog:
    """The watcher that logs slow, failed and cancelled statements. ``threshold``: seconds of work above which
    a statement is slow; ``literals``: whether logged texts keep their literals. Texts of errors are never
    logged: they may quote values of parameters."""

    def __init__(self, threshold: float, *, literals: bool) -> None:
        self._threshold = threshold
        self._literals = literals

    def begun(self, observation: Observation) -> None:
        """Do nothing when a statement begins: only ended statements are logged."""

    def ended(self, observation: Observation) -> None:
        """Log the statement if it has failed, was cancelled or was slow."""
        match observation.state:
            case StatementState.FAILED | StatementState.TIMED_OUT:
                self._log(FAILED, logging.ERROR, observation)
            case StatementState.CANCELLED:
                self._log(FAILED, logging.INFO, observation)
            case _ if observation.busy > self._threshold:
                self._log(SLOW, logging.INFO, observation)

    def _log(self, logger: logging.Logger, level: int, observation: Observation) -> None:
        if not logger.isEnabledFor(level):
            return
        extra = self.fields(observation)
        text = " ".join(str(extra["query_text"]).split())
        if observation.error_type:
            logger.log(
                level, "%s: %s: %s", observation.state.value, observation.error_type, text, extra=extra
            )
        else:
            lane, seconds = observation.lane, observation.busy
            logger.log(level, "%.3f s in lane %s: %s", seconds, lane, text, extra=extra)

    def fields(self, observation: Observation) -> dict[str, object]:
        """Return the values of the log record's extra fields, by the names in :data:`FIELDS`."""
        text = observation.text
        phases = {phase.name.lower(): seconds for phase, seconds in observation.times().items()}
        values = (
            observation.id,
            text if self._literals else masked(text),
            observation.state.value,
            observation.lane,
            masked_reason(observation.reason),
            observation.busy,
            phases,
            observation.rows_read,
            observation.rows_given,
            observation.rows_written,
            observation.memory_peak,
            observation.error_type,
            observation.sqlstate,
        )
        return {name: value for (name, _), value in zip(FIELDS, values, strict=True)}

    def close(self) -> None:
        """Do nothing: the loggers belong to the process, not to the session."""
