"""The line with the progress of a statement of the prompt."""

import io

import pytest

from sqlfront.shell.interactive import progress_line
from sqlfront.shell.interactive.display.screen import Screen
from sqlfront.shell.interactive.progress_line import RunLine


class _InterruptedTerminal(io.StringIO):
    """A terminal whose user presses Ctrl-C at the moment at which a text has been written."""

    interrupts = True

    def isatty(self) -> bool:
        return True

    def flush(self) -> None:
        if self.interrupts:
            self.interrupts = False
            raise KeyboardInterrupt


class _Reading:
    """A statement that has read rows."""

    def progress(self) -> None:
        return None

    def rows_read(self) -> int:
        return 7


def test_a_line_that_ctrl_c_met_while_it_was_drawn_is_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_line, "PATIENCE", 0.0)
    terminal = _InterruptedTerminal()
    line = RunLine(Screen(terminal, coloured=False), _Reading())

    with pytest.raises(KeyboardInterrupt):
        line.tick()

    assert "(Ctrl-C cancels)" in terminal.getvalue()
    assert line.close()
    assert terminal.getvalue().endswith("(Ctrl-C cancels)\r\x1b[K")
