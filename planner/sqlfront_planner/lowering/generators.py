"""Lowering of generator functions."""

import pyarrow as pa

from sqlfront_engine.processors.generate import Generate
from sqlfront_planner.logical import LogicalGenerate
from sqlfront_planner.lowering.builder import Builder, Fragment, narrowed


def lower_generate(
    builder: Builder, plan: LogicalGenerate, source: Fragment, output: tuple[int, ...]
) -> Fragment:
    """Lower a generation over ``source``, the lowered input. ``output`` are the ordinals of the columns of
    the plan's row that the operator emits; a column that isn't among them is neither copied nor made."""
    row = plan.row()
    schema = pa.schema([(row[place].name, row[place].type) for place in output])
    processor = Generate(
        plan.generator, plan.arguments, plan.outer, plan.input.width, len(plan.names), output, schema
    )
    if source.parallel and any(key.ordinal not in output for key in source.ordered):
        # Without the keys' columns the instances' rows could no longer be merged in order.
        return builder.gather("generate", processor, source)
    return narrowed(builder.follow("generate", processor, source), output)
