"""SIGTERM and SIGHUP at moments at which an exception of their handler would be lost."""

import os
import signal
import sys
from pathlib import Path

import pytest

from sqlfront.shell.interactive.prompt.ending_signals import EndingSignals, HangUp
from tests.sqlfront.shell.terminal import Terminal

#: Sends SIGHUP from a callback of the interpreter, which prints and swallows exceptions, while the editor's
#: modules load; then runs the shell.
WHILE_LOADING = """
import os, signal, sys, weakref

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "prompt_toolkit.application":
            kept = type("Kept", (), {})()
            reference = weakref.ref(kept, lambda _: os.kill(os.getpid(), signal.SIGHUP))
            del kept

sys.meta_path.insert(0, Finder())
from sqlfront_command import main; main()
"""


def send(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)


def send_while_held(done: list[str]) -> None:
    with EndingSignals() as signals, signals.held():
        send(signal.SIGHUP)
        done.append("the rest")


def test_a_signal_is_raised_at_the_end_of_code_that_holds_it() -> None:
    done = list[str]()
    with pytest.raises(HangUp) as raised:
        send_while_held(done)

    assert raised.value.number == signal.SIGHUP
    assert done


def ask_again(told: list[int]) -> None:
    """An editor that begins, is told of a signal too early, asks again, and ends with an exception."""
    with EndingSignals() as signals, signals.held(lambda arrived: told.append(arrived.number)):
        signals.repeat()
        assert told == []
        send(signal.SIGTERM)
        signals.repeat()
        raise EOFError


def test_held_code_is_told_of_a_signal_and_may_ask_again() -> None:
    told = list[int]()
    with pytest.raises(HangUp):
        ask_again(told)

    assert told == [signal.SIGTERM, signal.SIGTERM]


def send_to_other_code() -> None:
    with EndingSignals():
        send(signal.SIGHUP)
        raise AssertionError


def test_other_code_is_interrupted_and_the_former_handlers_come_back() -> None:
    before = signal.getsignal(signal.SIGHUP)
    with pytest.raises(HangUp):
        send_to_other_code()

    assert signal.getsignal(signal.SIGHUP) is before


def test_a_hang_up_while_the_editor_loads_ends_the_shell_quietly(tmp_path: Path) -> None:
    with Terminal(folder=tmp_path, program=[sys.executable, "-c", WHILE_LOADING]) as shell:
        assert shell.ended() == 128 + signal.SIGHUP
        assert shell.text() == ""


def test_two_signals_end_the_editor_once(tmp_path: Path) -> None:
    with Terminal(folder=tmp_path) as shell:
        shell.wait_for_prompt()
        shell.signal(signal.SIGTERM)
        shell.signal(signal.SIGTERM)
        assert shell.ended() in (128 + signal.SIGTERM, -signal.SIGTERM)
        assert "xception" not in shell.text()
