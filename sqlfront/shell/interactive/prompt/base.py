"""The contract of a prompt, and the end of the process by a signal."""

from typing import Final, Protocol

#: The text before a statement, unless the user has another.
PROMPT: Final = "sqlfront> "


class Prompt(Protocol):
    """A source of texts that the user types."""

    def read(self, draft: str) -> str:
        """Return the next text, complete statements or a command; the editor begins with ``draft``. Raises
        EOFError if the user leaves, KeyboardInterrupt if the user gives the text up, HangUp at SIGTERM and
        SIGHUP."""


class HangUp(BaseException):
    """The end of the shell by a signal; ``number`` is the signal's."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number
