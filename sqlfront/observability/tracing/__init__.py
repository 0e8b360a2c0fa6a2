"""Spans for OpenTelemetry: a span for each statement, and a span for each part of a job on a member.

``statement_spans`` watches a session's statements; ``part_spans`` watches the jobs on a member, whose spans
are children of the statements' spans. Both need opentelemetry-api (extra ``tracing``); the spans go where the
process's tracer provider sends them.
"""
