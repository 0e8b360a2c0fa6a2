"""The contract of a prompt."""

from typing import Final, Protocol

#: The text before a statement, unless the user has another.
PROMPT: Final = "sqlfront> "


class Prompt(Protocol):
    """A source of texts that the user types."""

    def read(self, draft: str) -> str:
        """Return the next text, complete statements or a command; the editor begins with ``draft``. Raises
        EOFError if the user leaves, KeyboardInterrupt if the user gives the text up, HangUp at SIGTERM and
        SIGHUP."""
