"""The contract of a prompt."""

from typing import Final, Protocol

#: The text before a statement, unless the user has another.
PROMPT: Final = "sqlfront> "


class Prompt(Protocol):
    """The contract of a prompt, which reads the texts that the user types."""

    def read(self, draft: str) -> str:
        """Return the next text that the user types: complete statements, or a command of the shell.
        ``draft``: the text with which the editor begins, empty for none. Raises EOFError if the user leaves,
        KeyboardInterrupt if the user discards the text by Ctrl-C, HangUp at SIGTERM and SIGHUP."""
