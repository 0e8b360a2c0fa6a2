"""The prompt's history: earlier texts of the user, in a file."""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from prompt_toolkit.history import FileHistory

from sqlfront.shell.interactive.text.secrets import is_private


def history_path(environment: Mapping[str, str]) -> Path:
    """Return the path of the history's file: $SQLFRONT_HISTORY, else ``sqlfront/history`` below
    $XDG_STATE_HOME or, without that variable, below ``~/.local/state``."""
    told = environment.get("SQLFRONT_HISTORY")
    if told:
        return Path(told).expanduser()
    state = environment.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state).expanduser() / "sqlfront" / "history"


class KeptHistory(FileHistory):
    """A history of the user's texts for prompt_toolkit, in a file that only its owner can read. Texts that
    begin with a blank, set a variable or seem to hold a secret are not stored. If the file can't be written,
    ``warn`` is called once with a message, and the history lasts as long as the process."""

    def __init__(self, path: Path, warn: Callable[[str], None]) -> None:
        self._warn: Callable[[str], None] | None = warn
        super().__init__(str(path))
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600))
        except OSError as error:
            self._fail(error)

    def append_string(self, string: str) -> None:
        """Add a text to the history, unless it is private or equals the latest text."""
        if is_private(string) or (self._loaded_strings and self._loaded_strings[0] == string):
            return
        super().append_string(string)

    def store_string(self, string: str) -> None:
        """Append a text to the file. If that fails, the file is as before, and later texts are not
        written."""
        if self._warn is None:
            return
        size = None
        try:
            size = os.path.getsize(self.filename)
            super().store_string(string.encode("utf-8", "replace").decode())
        except OSError as error:
            if size is not None:
                with suppress(OSError):
                    os.truncate(self.filename, size)
            self._fail(error)

    def load_history_strings(self) -> list[str]:
        """Return the texts of the file, the latest first; none if the file can't be read."""
        try:
            return list(super().load_history_strings())
        except OSError:
            return []

    def _fail(self, error: OSError) -> None:
        warn, self._warn = self._warn, None
        if warn is not None:
            warn(f"the history is not kept: can't write {os.fsdecode(self.filename)}: {error.strerror}")
