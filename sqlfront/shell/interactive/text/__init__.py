"""Typed text before it is a statement: its tokens, its statements, its secrets. Pure functions, which
accept every text.

In: the text of the prompt or of a script. Out: the statements to run, or the answer that the text isn't
complete. Reading order: ``tokens``, ``statements``, ``command_lines``, ``secrets``.
"""
