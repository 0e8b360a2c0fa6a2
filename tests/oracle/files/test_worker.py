"""The process that reads: its end, and a long silence, are failures; the next statement has a new process."""

import os
import time
from multiprocessing.connection import Connection

from tests.oracle.answers import Answer, Failure
from tests.oracle.files.worker import DIED, FrontReader


def serve(pipe: Connection) -> None:
    """Answers all but two statements."""
    while True:
        try:
            statement = pipe.recv()
        except EOFError:
            return
        if statement == "abort":
            os.abort()
        if statement == "sleep":
            time.sleep(600)
        pipe.send(Answer((), ((statement,),)))


def test_the_end_of_the_process_is_a_failure_of_its_case_alone() -> None:
    with FrontReader(patience=10, serve=serve) as reader:
        assert reader.answer(["abort", "1"], ["2"]) == Failure(
            DIED, None, "DIED: the process ended with signal SIGABRT"
        )
        assert reader.answer(["1", "2"]) == Answer((), (("2",),))


def test_a_long_silence_is_a_failure() -> None:
    with FrontReader(patience=0.5, serve=serve) as reader:
        assert reader.answer(["sleep"]) == Failure(DIED, None, "DIED: no answer after 0.5 s")
