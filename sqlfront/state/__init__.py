"""The state of a session: ``context`` is the object that has all parts; ``options`` are the settings of SET,
``home`` is the directory of tables without LOCATION, ``plans`` has the kinds of cached plans,
``cached_table`` the copies of tables, ``spark_beside`` the interface to a Spark session."""
