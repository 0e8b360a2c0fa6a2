r"""The shell's commands, which begin with a backslash.

In: a line such as ``\d flights``. Out: text on the screen, statements that are run, or a change of the
shell's state. Reading order: ``command`` (the form of a command, and how a line is read), ``objects``
(commands that list tables, views, functions and other objects, such as ``\d``), ``running`` (scripts,
repetition, editor), ``state`` (how answers are shown, variables), ``registry`` (all commands by name).
"""
