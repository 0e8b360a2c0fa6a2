"""A prompt without an editor, for a terminal without prompt_toolkit."""

from sqlfront.shell.interactive.text.statements import is_complete


class PlainPrompt:
    """A prompt that reads line by line until the text is complete. ``prompt``: the text in front of the first
    line."""

    def __init__(self, prompt: str) -> None:
        self._first = prompt
        self._more = "...> ".rjust(len(prompt))

    def read(self, draft: str) -> str:
        """Return the next text that the user types. The user can't edit ``draft``: it is printed, and the
        text begins with it. Raises EOFError if the user leaves, KeyboardInterrupt at Ctrl-C."""
        if draft:
            print(draft)
        lines = [draft] if draft else []
        while True:
            lines.append(input(self._more if lines else self._first))
            text = "\n".join(lines)
            if is_complete(text):
                return text
