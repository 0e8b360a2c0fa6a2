"""SHOW, DESCRIBE and information_schema, as tools ask."""
