"""Rules that remove or merge nodes, or remove columns, and keep the plan's result."""
