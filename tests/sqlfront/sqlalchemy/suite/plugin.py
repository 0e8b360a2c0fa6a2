"""SQLAlchemy's plug-in of pytest, with the dialect made known, also by the name that the suite gives it."""

from sqlalchemy.dialects import registry
from sqlalchemy.testing.plugin.pytestplugin import *  # noqa: F403 - its hooks

for name in ("sqlfront", "sqlfront.sqlfront"):
    registry.register(name, "sqlfront.sqlalchemy.dialect", "SqlfrontDialect")
