"""SQL in notebooks: the magics ``%sql`` and ``%%sql`` of IPython and Jupyter (extra ``jupyter``).

In comes the text of a cell; out goes a :class:`~sqlfront.results.result.Result`, which notebooks show as a
table. Reading order: ``extension`` and ``magics`` (the magics), ``line`` (the parts of a call), ``variables``
(variables of the notebook as parameters and frames), ``running`` (a statement that can be interrupted, with
the statement's progress), ``completion`` (names in a cell).
"""
