"""What operators see: sys.queries, log lines, metrics and spans."""
