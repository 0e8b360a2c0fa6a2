r"""The interactive shell: SQL at a terminal, with an editor, answers that fit the screen, and commands that
begin with a backslash.

In: a session. Out: an exit code, after the user has left. :func:`run` is the only entry point, and nothing
here is loaded for ``-c``, ``-f`` or a pipe. Reading order: ``loop`` (read, run, repeat), ``shell`` (the
state), ``statements`` (the run of a statement, on a ``worker``), ``text`` (typed text), ``display``
(answers), ``commands``, ``completion``, ``prompt`` (the editor).
"""

from sqlfront.shell.interactive.loop import run

__all__ = ["run"]
