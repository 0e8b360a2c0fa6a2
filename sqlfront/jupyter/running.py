"""A statement that runs on a thread of its own, so that the notebook shows the statement's progress, and an
interrupt of the kernel cancels the statement."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

from sqlfront.jupyter.variables import frames_of, parameters_of
from sqlfront.results.result import Result
from sqlfront.session import Session
from sqlfront_engine.jobs.query_run import QueryRun
from sqlfront_values.errors import OperationalError

#: Seconds until the progress of a statement is shown, and between updates.
PATIENCE: Final = 1.0
INTERVAL: Final = 0.25
#: Seconds that a cancelled statement may take to end.
_ENDING: Final = 30.0

#: A function that shows a line of text in the place of the last one; None ends the line.
Show = Callable[[str | None], None]


def run(session: Session, text: str, variables: Mapping[str, object], show: Show) -> Result:
    """Run one statement, and return its result when the first rows have arrived. ``variables``: the
    notebook's variables, by name, for parameters and frames of the statement; ``show`` is called with a line
    of progress now and then, and with None in the end.

    Raises the statement's error. An interrupt of the kernel cancels the statement, whose error is then
    OperationalError (HY008); raises KeyboardInterrupt if the statement has nevertheless ended without an
    error.
    """
    query = session.begin(text)
    work = _Work(session, text, variables, query)
    began = time.monotonic()
    work.start()
    try:
        work.wait(PATIENCE)
        while not work.wait(INTERVAL):
            show(_progress(query, time.monotonic() - began))
    except KeyboardInterrupt:
        query.cancel()
        if not work.wait(_ENDING):
            raise OperationalError(
                f"the statement has not ended {_ENDING:g} s after its cancellation"
            ) from None
        work.outcome().close()
        raise
    finally:
        show(None)
    return work.outcome()


def _progress(query: QueryRun, seconds: float) -> str:
    """Return a line about the progress of the run, which has taken ``seconds`` so far."""
    found = query.progress()
    return f"running, {seconds:.1f} s" if found is None else f"spark: {found}, {seconds:.1f} s"


class _Work:
    """The run of one statement on a thread of its own; ``variables`` as of :func:`run`."""

    def __init__(self, session: Session, text: str, variables: Mapping[str, object], query: QueryRun) -> None:
        self._session, self._text, self._query = session, text, query
        self._variables = variables
        self._ended = threading.Event()
        self._result: Result | None = None
        self._error: BaseException | None = None

    def start(self) -> None:
        """Begin the statement on its thread, and return."""
        threading.Thread(target=self._run, name="sqlfront-notebook", daemon=True).start()

    def wait(self, seconds: float) -> bool:
        """Wait until the statement has ended, but at most ``seconds``; return whether the statement has
        ended."""
        return self._ended.wait(seconds)

    def outcome(self) -> Result:
        """Return the result of the statement, which must have ended, or raise the statement's error."""
        if self._error is not None:
            raise self._error
        assert self._result is not None
        return self._result

    def _run(self) -> None:
        try:
            parameters = parameters_of(self._text, self._variables)
            frames = frames_of(self._text, self._variables)
            result = self._session.answer(self._text, parameters, frames, self._query)
            result.wait()
            self._result = result
        except BaseException as error:  # noqa: BLE001 - raised again on the notebook's thread
            self._error = error
        finally:
            self._ended.set()
