"""The state of a session: ``context`` holds the parts together; ``options`` are the settings of SET, ``home``
is the directory of tables without LOCATION, ``plans`` has the kinds of cached plans, ``cached_table`` the
copies of tables."""
