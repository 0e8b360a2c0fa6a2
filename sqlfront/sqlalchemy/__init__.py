"""SQLAlchemy's dialects ``sqlfront://`` and ``sqlfront+cluster://`` (extra ``sqlalchemy``).

Statements of SQLAlchemy come in and go out as Spark's SQL with ``?`` for parameters; rows come back as the
driver's Python values. Reading order: ``types`` (the types that SQLAlchemy lacks, and types of SQLAlchemy to
Arrow's and back), ``values`` (Python values to the driver's), ``identifiers``, ``type_compiler``,
``compiler``, ``ddl`` (SQL text), ``reflection`` (tables, views, columns, indexes), ``urls``,
``shared_session`` (the session of an engine), ``dialect`` (composes all).

>>> from sqlalchemy import create_engine, text
>>> engine = create_engine("sqlfront://")
>>> with engine.connect() as connection:
...     connection.scalar(text("SELECT 1 + 1"))
2
>>> engine.dispose()
"""
