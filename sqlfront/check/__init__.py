"""``sqlfront check``: which way each statement of a file would go, without running any.

In: a path. Out: a :class:`~sqlfront.check.files.Finding` for each of its statements.

``files`` finds the statements of a script, with ``python_texts`` those of a Python program, and ``checker``
plans them one after another, without data: what a statement creates is known to those behind it as
``outline`` has it, columns without rows; and beside a Spark session what that has.
"""
