"""What the suite may expect: which of Spark's abilities a test needs, and which sqlfront's tables lack."""

from typing import Any

from sqlalchemy.testing import exclusions
from sqlalchemy.testing.requirements import SuiteRequirements

_open, _closed = exclusions.open, exclusions.closed


def _always(rule: Any) -> Any:
    return property(lambda self: rule())


class Requirements(SuiteRequirements):
    """Closed: constraints, sequences, autoincrement, RETURNING, savepoints, options of tables, and what
    Spark's SQL doesn't have. Open: what the suite's defaults leave out, but Spark has."""

    # constraints, sequences, autoincrement, RETURNING, savepoints
    primary_key_constraint_reflection = foreign_key_constraint_reflection = _always(_closed)
    unique_constraint_reflection = check_constraint_reflection = _always(_closed)
    self_referential_foreign_keys = on_update_cascade = _always(_closed)
    named_constraints = implicitly_named_constraints = _always(_closed)
    duplicate_key_raises_integrity_error = _always(_closed)
    sequences = sequences_optional = _always(_closed)
    autoincrement_insert = autoincrement_without_sequence = _always(_closed)
    insert_returning = update_returning = delete_returning = insert_executemany_returning = _always(_closed)
    implements_get_lastrowid = emulated_lastrowid = dbapi_lastrowid = _always(_closed)
    empty_inserts = empty_inserts_executemany = _always(_closed)
    savepoints = two_phase_transactions = _always(_closed)

    # what Spark has
    intersect = except_ = window_functions = ctes = ctes_with_values = _always(_open)
    nullsordering = tuple_in = views = boolean_col_expressions = _always(_open)
    table_value_constructor = parens_in_union_contained_select_w_limit_offset = _always(_open)
    standard_cursor_sql = fetch_first = fetch_expression = _always(_open)
    regexp_match = regexp_replace = supports_is_distinct_from = _always(_open)
    supports_bitwise_or = supports_bitwise_and = supports_bitwise_not = supports_bitwise_xor = _always(_open)
    supports_bitwise_shift = mod_operator_as_percent_sign = _always(_open)
    order_by_label_with_expression = aggregate_order_by = _always(_open)
    datetime_interval = datetime_literals = datetime_timezone = timestamp_microseconds = _always(_open)
    datetime_historic = date_historic = datetime_timezone_historic = _always(_open)
    uuid_data_type = nvarchar_types = array_type = _always(_open)
    precision_numerics_enotation_large = precision_numerics_enotation_small = _always(_open)
    precision_numerics_many_significant_digits = _always(_open)
    precision_numerics_retains_significant_digits = _always(_open)
    cast_precision_numerics_many_significant_digits = infinity_floats = _always(_open)
    float_or_double_precision_behaves_generically = _always(_open)
    isolation_level = _always(_open)
    create_table_as = create_or_replace_view = _always(_open)
    table_ddl_if_exists = index_ddl_if_exists = index_reflection = _always(_open)
    view_column_reflection = _always(_open)
    multivalues_inserts = insert_from_select = _always(_open)

    # what it has not
    # names of tables are letters, digits and underscores
    unicode_ddl = _always(_closed)
    schemas = schema_reflection = default_schema_name_switch = autocommit = _always(_closed)
    foreign_key_constraint_name_reflection = reflects_pk_names = _always(_closed)
    time = time_microseconds = time_implicit_bound = _always(_closed)
    indexes_with_ascdesc = reflect_indexes_with_ascdesc = _always(_closed)
    temporary_tables = temporary_views = temp_table_reflection = _always(_closed)
    unicode_connections = _always(_open)

    def get_isolation_levels(self, config: Any) -> dict[str, Any]:
        """The only isolation level."""
        return {"default": "AUTOCOMMIT", "supported": ["AUTOCOMMIT"]}
