"""The tests of the suite that don't run, with the reason; docs/sqlalchemy.md lists the same. Some have
different names in SQLAlchemy 2.0 and 2.1."""

from typing import Final

_NAMES = "tables have quotes in their names; Spark allows letters, digits and `_`"
_UNIQUE = "no index is unique"
_ORDER = "an order is expected without ORDER BY"
_MADE_KEY = "the database is expected to make a key, as with autoincrement"
_OPTIONS = "the test expects that there are no options of tables; there are"

#: Reasons by name of class, or of class and test.
RULED_OUT: Final = {
    "ComponentReflectionTest.test_get_indexes": _UNIQUE,
    "ComponentReflectionTest.test_get_multi_indexes": _UNIQUE,
    "ComponentReflectionTest.test_get_table_options": _OPTIONS,
    "ComponentReflectionTest.test_metadata": "a second schema is expected",
    "ComponentReflectionTest.test_multi_get_table_options": _OPTIONS,
    "ComponentReflectionTestExtra.test_string_length_reflection": "STRING holds texts of any length",
    "InsertBehaviorTest.test_insert_from_select_autoinc": _MADE_KEY,
    "InsertBehaviorTest.test_no_results_for_non_returning_insert": _MADE_KEY,
    "IsolationLevelTest.test_dialect_user_setting_is_restored": "two isolation levels are expected",
    "QuotedNameArgumentTest": _NAMES,
    "ServerSideCursorsTest": "the test knows the cursors of some drivers by name",
    "WindowFunctionTest.test_window_rows_between": _ORDER,
    "WindowFunctionTest.test_window_rows_between_w_caching": _ORDER,
}
