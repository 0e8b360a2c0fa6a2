"""SQLAlchemy's own suite for dialects, in a process of its own: it brings a plug-in of pytest that changes
how tests are collected.

python -m tests.sqlfront.sqlalchemy.suite.run [-k name ...]
"""
