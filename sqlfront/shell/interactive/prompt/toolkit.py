"""The editor of the prompt, on prompt_toolkit: several lines, completion, colours, history with search."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from prompt_toolkit import PromptSession
from prompt_toolkit.application import Application, get_app_or_none
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, ThreadedCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import (
    completion_is_selected,
    emacs_mode,
    has_focus,
    is_searching,
    vi_navigation_mode,
)
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings as Bindings
from prompt_toolkit.key_binding import KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.shortcuts import CompleteStyle
from prompt_toolkit.styles import Style, merge_styles, style_from_pygments_dict

from sqlfront.configuration import KeyBindings, ShellOptions
from sqlfront.shell.interactive.completion.candidates import Candidates
from sqlfront.shell.interactive.display.screen import Screen
from sqlfront.shell.interactive.display.visible import cells_of, visible
from sqlfront.shell.interactive.prompt.base import PROMPT
from sqlfront.shell.interactive.prompt.ending_signals import EndingSignals
from sqlfront.shell.interactive.prompt.highlighting import COLOURS, SparkSqlLexer
from sqlfront.shell.interactive.prompt.history import KeptHistory
from sqlfront.shell.interactive.text.statements import is_complete

#: Lines below the prompt that the menu of completions may take.
_MENU: Final = 8
#: Seconds after which the byte of Esc is the key, and not the begin of an arrow's, for the editor vi.
_VI_ESCAPE: Final = 0.05
_STYLE: Final = Style.from_dict({"prompt": "bold", "completion-menu.meta.completion": "italic"})


class ToolkitPrompt:
    """A prompt with an editor, on prompt_toolkit. ``history`` is the path of the history's file; ``signals``
    end the editor at SIGTERM and SIGHUP."""

    def __init__(
        self,
        options: ShellOptions,
        screen: Screen,
        candidates: Candidates,
        history: Path,
        signals: EndingSignals,
    ) -> None:
        self._signals = signals
        self._message = visible(options.prompt or PROMPT)
        self._session: PromptSession[str] = PromptSession(
            history=KeptHistory(history, lambda text: screen.say(f"sqlfront: {text}")),
            lexer=PygmentsLexer(SparkSqlLexer, sync_from_start=True),
            completer=ThreadedCompleter(_MenuCompleter(candidates)),
            complete_while_typing=True,
            complete_style=CompleteStyle.COLUMN,
            reserve_space_for_menu=_MENU,
            multiline=True,
            prompt_continuation=self._continuation,
            key_bindings=_key_bindings(),
            editing_mode=EditingMode.VI if options.keys is KeyBindings.VI else EditingMode.EMACS,
            style=merge_styles([style_from_pygments_dict(COLOURS), _STYLE]),
            color_depth=None if screen.coloured else ColorDepth.DEPTH_1_BIT,
            enable_open_in_editor=False,
        )
        if options.keys is KeyBindings.VI:
            self._session.app.ttimeoutlen = _VI_ESCAPE

    def read(self, draft: str) -> str:
        """Return the next text that the user types in the editor, which begins with ``draft``. Raises
        EOFError if the user leaves, KeyboardInterrupt at Ctrl-C, HangUp at SIGTERM and SIGHUP."""
        with self._signals.held(_end_editor):
            return self._session.prompt(
                [("class:prompt", self._message)], default=draft, pre_run=self._signals.repeat
            )

    def _continuation(self, width: int, number: int, wraps: int) -> StyleAndTextTuples:
        text = "" if wraps else "...> "
        return [("class:prompt", " " * (cells_of(self._message) - len(text)) + text)]


class _MenuCompleter(Completer):
    """The completer of prompt_toolkit that offers the candidates at the cursor."""

    def __init__(self, candidates: Candidates) -> None:
        self._candidates = candidates

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yield the completions at the cursor. prompt_toolkit calls this in a thread beside the editor's."""
        asked = complete_event.completion_requested
        for found in self._candidates.at(document.text, document.cursor_position, asked=asked):
            yield Completion(found.text, -found.replaced, display=found.shown, display_meta=found.meta)


def _key_bindings() -> Bindings:
    """Return the key bindings. Enter at the end of a complete text runs the text, and else begins a line;
    Enter on a chosen completion only accepts the completion. Alt-Enter, and Enter in vi's command mode, run
    the text even if it is incomplete."""
    bindings = Bindings()
    typing = has_focus("DEFAULT_BUFFER") & ~is_searching

    @bindings.add("enter", filter=typing & ~completion_is_selected & ~vi_navigation_mode)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        at_end = "\n" not in buffer.text or not buffer.document.text_after_cursor.strip()
        if at_end and is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    @bindings.add("enter", filter=typing & completion_is_selected)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.complete_state = None

    # Alt-Enter is Esc and Enter, which vi's Esc doesn't wait for.
    @bindings.add("escape", "enter", filter=typing & emacs_mode)
    @bindings.add("enter", filter=typing & vi_navigation_mode)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    return bindings


def _end_editor(ended: BaseException) -> None:
    """Make the running editor raise the exception ``ended``; without a running editor do nothing. This is for
    signal handlers, since the editor's event loop would swallow an exception that the handler raised."""
    app = get_app_or_none()
    if app is not None and app.loop is not None:
        app.loop.call_soon_threadsafe(_exit, app, ended)


def _exit(app: Application[object], ended: BaseException) -> None:
    """Make an editor raise the exception ``ended``, unless the editor has a result already."""
    if app.future is not None and not app.future.done():
        app.exit(exception=ended)
