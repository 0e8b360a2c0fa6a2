"""Spans: one for each statement, and children of it on the members."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import sqlfront
from sqlfront import Config
from sqlfront.config import Launcher
from sqlfront.observability.tracing import part_spans, statement_spans
from sqlfront.pipeline import Pipeline, table
from sqlfront_cluster.codec import encode
from sqlfront_cluster.members.protocol.messages import Init
from sqlfront_values.settings import Settings
from tests.cluster.network.meeting import until


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """Where the spans of a test go."""
    made, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(made))
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    yield made
    provider.shutdown()


@pytest.fixture
def connection(exporter: InMemorySpanExporter) -> Iterator[sqlfront.Connection]:
    with sqlfront.connect(config=Config(tracing=True, members=3, workers=3)) as made:
        made.execute("CREATE TABLE numbers USING memory CLUSTERED BY (k) AS SELECT id AS k FROM range(20000)")
        until(lambda: len(exporter.get_finished_spans()) == 3)
        exporter.clear()
        yield made


def statements(exporter: InMemorySpanExporter) -> list[ReadableSpan]:
    return [span for span in exporter.get_finished_spans() if span.name != "job"]


def attributes(span: ReadableSpan) -> dict[str, object]:
    return dict(span.attributes or {})


def test_a_statement_is_a_client_span_below_the_callers(
    connection: sqlfront.Connection, exporter: InMemorySpanExporter
) -> None:
    with trace.get_tracer("caller").start_as_current_span("caller"):
        connection.execute("select k from numbers where k = 42").fetchall()

    span, caller = exporter.get_finished_spans()
    assert (span.name, span.kind, span.status.status_code) == (
        "SELECT",
        trace.SpanKind.CLIENT,
        trace.StatusCode.UNSET,
    )
    assert span.parent is not None
    assert caller.context is not None
    assert span.parent.span_id == caller.context.span_id
    found = attributes(span)
    assert found["db.system.name"] == "sqlfront"
    assert found["db.namespace"] == "spark_catalog|default"
    assert found["db.query.text"] == "select k from numbers where k = ?"
    assert (found["db.response.returned_rows"], found["sqlfront.lane"]) == (1, "direct")


def test_members_make_children_of_the_statements_span(
    connection: sqlfront.Connection, exporter: InMemorySpanExporter
) -> None:
    connection.execute("SELECT count(*) FROM numbers WHERE k % 2 = 1").fetchall()
    until(lambda: len(exporter.get_finished_spans()) == 3)

    (span,) = statements(exporter)
    parts = [each for each in exporter.get_finished_spans() if each.name == "job"]
    assert {attributes(each)["sqlfront.member"] for each in parts} == {"embedded-1", "embedded-2"}
    assert span.context is not None
    assert {each.parent.span_id for each in parts if each.parent} == {span.context.span_id}
    assert {each.kind for each in parts} == {trace.SpanKind.SERVER}
    assert {attributes(each)["sqlfront.status"] for each in parts} == {"completed"}
    assert set(attributes(parts[0])) <= {name for name, _ in part_spans.ATTRIBUTES}


def test_an_error_has_its_type_and_never_its_text(
    connection: sqlfront.Connection, exporter: InMemorySpanExporter
) -> None:
    for text in ("SELECT CAST('hunter2' AS INT) + k FROM numbers", "hunter2"):
        with pytest.raises(sqlfront.Error):
            connection.execute(text, timeout=60).fetchall()
    with pytest.raises(sqlfront.Error):
        connection.execute("SELECT CAST(? AS INT) + k FROM numbers", ["hunter2"]).fetchall()

    spans = statements(exporter)
    assert [attributes(span)["error.type"] for span in spans] == [
        "CAST_INVALID_INPUT",
        "PARSE_SYNTAX_ERROR",
        "CAST_INVALID_INPUT",
    ]
    assert [attributes(span)["db.response.status_code"] for span in spans] == ["22018", "42601", "22018"]
    assert {span.status.status_code for span in spans} == {trace.StatusCode.ERROR}
    shown = [span.to_json() for span in spans if attributes(span)["db.operation.name"] == "SELECT"]
    assert len(shown) == 2
    assert not [text for text in shown if "hunter2" in text]
    assert spans[1].name == "STATEMENT"


def test_a_pipeline_has_a_span(connection: sqlfront.Connection, exporter: InMemorySpanExporter) -> None:
    pipeline = Pipeline().read(table(connection.session, "numbers")).filter(lambda k: k < 3).collect()
    connection.session.run_pipeline(pipeline).collect()

    assert [span.name for span in statements(exporter)] == ["PIPELINE"]


def test_every_attribute_is_documented(
    connection: sqlfront.Connection, exporter: InMemorySpanExporter
) -> None:
    for text in (
        "SELECT count(*) FROM numbers",
        "INSERT INTO numbers VALUES (1)",
        "SELECT 1 DIV (k - k) FROM numbers",
    ):
        try:
            connection.execute(text).fetchall()
        except sqlfront.Error:
            pass
    found = {name for span in statements(exporter) for name in attributes(span)}

    assert found == {name for name, _ in statement_spans.ATTRIBUTES}


def test_without_a_provider_nothing_travels_to_the_members() -> None:
    assert statement_spans.context_of(trace.INVALID_SPAN) == ""


def test_a_trace_context_is_in_the_init_message_only_if_there_is_one() -> None:
    without = Init(1, 1, b"dag", b"placement", Settings(), 271)
    context = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with_context = Init(1, 1, b"dag", b"placement", Settings(), 271, trace=context)

    assert b"trace" not in encode(without)
    assert len(encode(with_context)) > len(encode(without)) + len(context)


def test_without_the_library_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sqlfront.observability.tracing.availability.find_spec", lambda name: None)
    for members in (1, 2):
        with pytest.raises(sqlfront.OperationalError, match=r"pip install 'sqlfront\[tracing\]'"):
            sqlfront.connect(config=Config(tracing=True, members=members))


#: Makes a provider in a member's process, whose spans go to a file.
SITE = """
import os
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
if "SQLFRONT_TEST_SPANS" in os.environ:
    out = open(os.environ["SQLFRONT_TEST_SPANS"], "a", buffering=1)
    exporter = ConsoleSpanExporter(out=out, formatter=lambda span: span.to_json(indent=None) + chr(10))
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
"""


@pytest.mark.doors
def test_the_trace_reaches_members_in_processes_of_their_own(
    exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(SITE)
    spans = tmp_path / "spans.jsonl"
    spans.touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("SQLFRONT_TEST_SPANS", str(spans))
    config = Config(tracing=True, members=2, launcher=Launcher.LOCAL, workers=1)
    with sqlfront.connect(config=config) as connection:
        connection.execute("CREATE TABLE numbers USING memory AS SELECT id AS k FROM range(20000)")
        exporter.clear()
        spans.write_text("")
        connection.execute("SELECT count(*) FROM numbers WHERE k % 2 = 1").fetchall()
        until(lambda: len(spans.read_text().splitlines()) == 2)

    (statement,) = exporter.get_finished_spans()
    assert statement.context is not None
    parts = [json.loads(line) for line in spans.read_text().splitlines()]
    assert {part["parent_id"] for part in parts} == {f"0x{statement.context.span_id:016x}"}
    assert {part["context"]["trace_id"] for part in parts} == {f"0x{statement.context.trace_id:032x}"}
    assert {part["attributes"]["sqlfront.member"] for part in parts} == {"local-0", "local-1"}
