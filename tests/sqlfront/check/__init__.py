"""What `sqlfront check` says of statements, scripts and programs."""
