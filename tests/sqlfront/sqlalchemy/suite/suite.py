"""The tests, as SQLAlchemy has them, without those that are ruled out."""

from sqlalchemy.testing.suite import *  # noqa: F403 - its tests

from tests.sqlfront.sqlalchemy.suite.ruled_out import RULED_OUT

for _place in RULED_OUT:
    _class, _, _test = _place.partition(".")
    # Versions of SQLAlchemy have different tests.
    if _test and not hasattr(globals()[_class], _test):
        continue
    if _test:
        delattr(globals()[_class], _test)
    else:
        del globals()[_class]
