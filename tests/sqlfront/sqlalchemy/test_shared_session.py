"""The session that an engine's connections share."""

import os
import signal
import threading

import sqlfront
from sqlfront.sqlalchemy.shared_session import SharedSession


def test_a_process_forked_while_a_session_opens_waits_for_no_thread_of_its_parent() -> None:
    shared = SharedSession()
    opening, forked = threading.Event(), threading.Event()

    def begin() -> sqlfront.Connection:
        opening.set()
        assert forked.wait(60)
        return sqlfront.connect()

    thread = threading.Thread(target=lambda: shared.connect(begin).close())
    thread.start()
    assert opening.wait(60)
    child = os.fork()
    if not child:
        signal.alarm(10)
        shared.release()
        shared.connect(sqlfront.connect).close()
        os._exit(0)
    forked.set()
    thread.join(60)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    shared.release()
