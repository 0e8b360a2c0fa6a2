"""Functions on typed text before it is parsed: its tokens, its statements, its secrets. They are pure, and
accept every text.

In: the text of the prompt or of a script. Out: the statements to run, or the answer that the text isn't
complete. Reading order: ``tokens``, ``statements``, ``command_lines``, ``secrets``.
"""
