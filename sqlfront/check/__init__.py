"""Code of ``sqlfront check``: the lane of each statement of a file, without running any statement.

In: a path. Out: a :class:`~sqlfront.check.files.Finding` for each statement of the file.

``files`` finds the statements of a script and, by ``python_texts``, those of a Python program; ``checker``
plans the statements one after another, without data. Relations that a statement creates are known to later
statements by their columns, without rows (``outline``); so are the relations of the Spark session, if there
is one.
"""
