"""Sources without a connector: rows of the query itself, of a range, of a subquery, of an earlier job."""
