"""The answer of EXPLAIN: lane and reason, vertices and edges, and the counters of a run.

:func:`~sqlfront_planner.explain.explanation.explanation` makes one frozen structure from a plan and from a
run's statistics; :func:`shown` formats the structure as text, as a graph in Graphviz' or Mermaid's language,
as JSON, or as the DAGs that run. Read ``explanation``, ``rows`` (the counters of a DAG that runs as a row
program), then ``text`` and ``graphs``.
"""

from typing import assert_never

import msgspec

from sqlfront_planner.explain.explanation import Explanation
from sqlfront_planner.explain.graphs import dags_of, dot_of, mermaid_of
from sqlfront_planner.explain.text import text_of
from sqlfront_planner.statements.structs import ExplainFormat


def shown(explanation: Explanation, form: ExplainFormat = ExplainFormat.TEXT) -> str:
    """Return the text of an explanation in the format ``form``."""
    match form:
        case ExplainFormat.TEXT:
            return text_of(explanation)
        case ExplainFormat.JSON:
            return msgspec.json.format(msgspec.json.encode(explanation), indent=2).decode()
        case ExplainFormat.DOT:
            return dot_of(explanation)
        case ExplainFormat.MERMAID:
            return mermaid_of(explanation)
        case ExplainFormat.DAG:
            return dags_of(explanation)
        case _:
            assert_never(form)
