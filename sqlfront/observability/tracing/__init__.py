"""Spans for OpenTelemetry: one for each statement, and one for each part of a job on a member.

``statement_spans`` watches a session's statements; ``part_spans`` watches a member, whose spans are children
of the statements' spans. Both need opentelemetry-api (extra ``tracing``); the spans go where the process's
tracer provider sends them.
"""
