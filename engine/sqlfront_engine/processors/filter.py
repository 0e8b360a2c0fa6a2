"""WHERE and HAVING."""

from typing import TYPE_CHECKING

from sqlfront_engine.evaluate import compile_filter
from sqlfront_engine.expressions import EngineExpr
from sqlfront_engine.lazy_modules import lazy_module
from sqlfront_engine.processor import Processor, ProcessorContext, Steps, Take

if TYPE_CHECKING:
    from sqlfront_engine import display
else:
    display = lazy_module("sqlfront_engine.display")


class Filter(Processor, frozen=True, tag_field="processor", tag=True):
    """The rows for which ``condition`` is true (neither false nor null)."""

    condition: EngineExpr

    def run(self, context: ProcessorContext) -> Steps:
        select = compile_filter(self.condition, context.settings)
        while (batch := (yield Take(0))) is not None:
            yield select(batch)

    def describe(self) -> str:
        return f"Filter: {display.describe(self.condition)}"
