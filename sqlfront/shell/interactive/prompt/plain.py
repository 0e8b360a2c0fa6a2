"""A prompt without an editor, for a terminal without prompt_toolkit."""

from sqlfront.shell.interactive.text.statements import is_complete


class PlainPrompt:
    """A prompt that reads line by line until the text is complete."""

    def __init__(self, prompt: str) -> None:
        self._first = prompt
        self._more = "...> ".rjust(len(prompt))

    def read(self, draft: str) -> str:
        """See :class:`~sqlfront.shell.interactive.prompt.base.Prompt`. A draft is shown, and its lines stand
        before those that are typed."""
        if draft:
            print(draft)
        lines = [draft] if draft else []
        while True:
            lines.append(input(self._more if lines else self._first))
            text = "\n".join(lines)
            if is_complete(text):
                return text
