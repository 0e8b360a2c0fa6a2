"""Durable jobs of sessions: statements, and processes that are killed while a job runs."""
