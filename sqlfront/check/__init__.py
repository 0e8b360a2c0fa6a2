"""Code of ``sqlfront check``: the lane of each statement of a file, without running any statement.

In: a path. Out: a :class:`~sqlfront.check.files.Finding` for each statement of the file.

``files`` finds the statements of a script, with ``python_texts`` the statements of a Python program, and
``checker`` plans the statements one after another, without data. Later statements know the relations of
earlier ones as an ``outline``, columns without rows, and the relations of the Spark session, if there is one.
"""
