"""Completion of a text at the cursor: the names and keywords that may come next.

In: the text, the cursor, and the names of a session. Out: candidates, each with the number of typed
characters that it replaces. Nothing here starts Spark, runs a statement, or raises for any text. Reading
order: ``names`` (tables and columns that a session knows), ``functions`` (signatures and help), ``scope``
(the relations and columns that are visible at a position), ``candidates`` (the answer), ``paths`` (files).
"""
