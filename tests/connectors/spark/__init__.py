"""Spark as a connector: types, statements, rows both ways; on the live session of the tests."""
