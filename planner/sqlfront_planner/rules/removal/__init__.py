"""Rules that remove or merge nodes, and remove columns, without which the plan gives the same result."""
