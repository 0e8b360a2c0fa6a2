"""Before/after pairs of plans: one file per rule in ``fixtures/``, blocks divided by blank lines.

A block is a comment that says what it shows (``Noop - why not`` where the rule must do nothing), the SQL,
``-- before``, the plan as the rules before leave it, ``-- after``, and the plan after the rule::

    # An empty side empties an inner join
    select * from t, u where false
    -- before
    ...
    -- after
    ...

``python -m tests.planner.fixtures`` writes both plans of every block anew, for review.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sqlfront_planner.catalog import Catalog
from sqlfront_planner.check import check
from sqlfront_planner.explain.plan_text import plan_text
from sqlfront_planner.logical import LogicalPlan
from sqlfront_planner.optimizer import RULES, Rule
from sqlfront_planner.testing import bound, example_catalog
from sqlfront_values.settings import Settings

FOLDER = Path(__file__).parent / "fixtures"
SETTINGS = Settings()


@dataclass(frozen=True)
class Pair:
    """One block; ``line`` is where it begins."""

    file: str
    line: int
    title: str
    sql: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.title}"

    @property
    def text(self) -> str:
        return f"# {self.title}\n{self.sql}\n-- before\n{self.before}\n-- after\n{self.after}\n"


def rule_named(name: str) -> Rule:
    return next(rule for rule in RULES if rule.name == name)


def plans(sql: str, rule: Rule, catalog: Catalog | None = None) -> tuple[LogicalPlan, LogicalPlan]:
    """The plan that the rule gets, and what it makes of it; every step is checked."""
    plan = bound(sql, catalog or example_catalog())
    for earlier in RULES[: RULES.index(rule)]:
        plan = check(earlier(plan, SETTINGS))
    return plan, check(rule(plan, SETTINGS))


def read(path: Path) -> Iterator[Pair]:
    line = 1
    for block in path.read_text().split("\n\n"):
        text = block.strip("\n")
        if text:
            head, _, rest = text.partition("\n-- before\n")
            before, _, after = rest.partition("\n-- after\n")
            title, _, sql = head.partition("\n")
            yield Pair(path.stem, line, title.removeprefix("# "), sql, before, after)
        line += block.count("\n") + 2


def pairs() -> list[Pair]:
    return [pair for path in sorted(FOLDER.glob("*.txt")) for pair in read(path)]


def complete(path: Path) -> None:
    blocks = []
    for pair in read(path):
        before, after = plans(pair.sql, rule_named(pair.file))
        blocks.append(Pair(pair.file, pair.line, pair.title, pair.sql, plan_text(before), plan_text(after)))
    path.write_text("\n".join(block.text for block in blocks))


if __name__ == "__main__":
    for name in sys.argv[1:] or [path.stem for path in FOLDER.glob("*.txt")]:
        complete(FOLDER / f"{name}.txt")
