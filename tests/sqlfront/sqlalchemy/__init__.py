"""The dialect of SQLAlchemy: by itself, under pandas and polars, and under SQLAlchemy's own suite
(``suite``)."""
