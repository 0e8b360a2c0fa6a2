"""Compare random queries with a live Spark.

python -m tests.oracle.campaign.run --count 4000 --seed 1     the same queries for the same seed
python -m tests.oracle.campaign.run --minutes 20              fresh seeds for that long
python -m tests.oracle.campaign.run --seed 1 --case 17        one case again, with what differs

A case is two views and some queries over them, drawn from the seed and the case's number. The command prints
each difference, then how many queries are the same, refused or different, and which functions, operators and
clauses took part. The exit status is 1 if a query differs.
"""

from __future__ import annotations

import argparse
import re
import secrets
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Final

from sqlfront_planner.binder.functions.function_names import function_names
from tests.oracle.answers import Answer, Failure, Outcome, difference
from tests.oracle.campaign.expressions import view
from tests.oracle.campaign.queries import Queries
from tests.oracle.campaign.signatures import Signature, signatures
from tests.oracle.random_clauses import SETUP as CLAUSES_SETUP
from tests.oracle.random_clauses import statements
from tests.oracle.random_generators import Case as GeneratorsCase
from tests.oracle.random_lambdas import Expressions as LambdaExpressions
from tests.oracle.random_windows import SETUP as WINDOWS_SETUP
from tests.oracle.random_windows import window_query
from tests.oracle.spark import SparkOracle
from tests.oracle.subject import Subject

#: The queries over one pair of views.
QUERIES: Final = 40
_CLAUSES: Final = (
    *("WHERE", "GROUP BY", "GROUP BY ALL", "ROLLUP", "CUBE", "GROUPING SETS", "HAVING", "QUALIFY"),
    *("ORDER BY", "LIMIT", "DISTINCT", "OVER", "ROWS BETWEEN", "RANGE BETWEEN", "FILTER (", "LATERAL VIEW"),
    *("OUTER", "LATERAL", "PIVOT", "UNPIVOT", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "SEMI JOIN"),
    *("ANTI JOIN", "UNION", "EXCEPT", "INTERSECT", "EXISTS (", "IN (SELECT", "WITH", "|>", "CASE", "CAST"),
    *("BETWEEN", "LIKE", "IS NULL", "->", "SORT BY", "CLUSTER BY", "DISTRIBUTE BY"),
)
_OPERATORS: Final = ("+", "-", "*", "||", "=", "<>", "<", "<=", ">", ">=", "<=>", "%")

#: Spark evaluates expressions over inline rows before it simplifies them, and rows of tables after that.
_EXCLUDED: Final = "org.apache.spark.sql.catalyst.optimizer.ConvertToLocalRelation"
#: Classes of SQLSTATEs: data exceptions, violated constraints (of map keys), and limits of sizes that a value
#: exceeds.
_OF_VALUES: Final = ("22", "23", "54")


@dataclass(frozen=True)
class Case:
    """Statements that make views, and the queries over them."""

    kind: str
    setup: tuple[str, ...]
    queries: list[str]


@dataclass
class Tally:
    """What came of the queries."""

    same: Counter[str] = field(default_factory=Counter)
    errors: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    different: int = 0
    asked: list[str] = field(default_factory=list)

    def lines(self) -> Iterator[str]:
        """The counts, and what took part."""
        same, refused = self.same.total(), self.refused.total()
        total = same + refused + self.different
        yield (
            f"{total} queries: {same} the same ({same / max(total, 1):.1%}), of which {self.errors} errors; "
            f"{refused} refused; {self.different} different"
        )
        yield from (f"  {kind}: {number} the same" for kind, number in self.same.most_common())
        yield from (f"  refused {number} times: {reason}" for reason, number in self.refused.most_common(25))
        text = "\n".join(self.asked)
        called = Counter(name.lower() for name in re.findall(r"\b([A-Za-z_]\w*)\(", text))
        known = [name for name in function_names() if name.isidentifier()]
        missed = [name for name in known if name not in called]
        yield f"functions: {len(known) - len(missed)} of {len(known)}; not called: {' '.join(missed)}"
        for title, words in (("operators", _OPERATORS), ("clauses", _CLAUSES)):
            yield f"{title}: {', '.join(f'{word} {text.count(word)}' for word in words)}"


def case(seed: int, number: int, forms: list[Signature]) -> Case:
    """The case of a seed with a number."""
    random = Random(f"{seed} {number}")
    match number % 10:
        case 6:
            source = LambdaExpressions(f"{seed} {number}", most=3 + number % 2)
            return Case("lambdas", (source.view("v", 6),), [source.query("v") for _ in range(QUERIES)])
        case 7:
            drawn = GeneratorsCase(seed * 100_003 + number, QUERIES)
            return Case("generators", drawn.setup, drawn.queries)
        case 8:
            return Case("windows", WINDOWS_SETUP, [window_query(random) for _ in range(QUERIES)])
        case 9:
            return Case("clauses", CLAUSES_SETUP, statements(QUERIES, seed * 100_003 + number))
        case _:
            queries = Queries(random, forms)
            views = (
                view(random, "v", random.choice((1, 4, 9))),
                view(random, "w", random.choice((2, 3, 5))),
            )
            return Case("functions", views, [queries.query() for _ in range(QUERIES)])


def compare(drawn: Case, spark: SparkOracle, tally: Tally) -> Iterator[str]:
    """Ask both; yields what differs."""
    theirs = spark.begin_file()
    theirs.session.conf.set("spark.sql.optimizer.excludedRules", _EXCLUDED)
    with Subject() as here:
        for text in drawn.setup:
            for one in (theirs, here):
                made = one.answer(text)
                assert not isinstance(made, Failure), f"{text}\n{made}"
        for sql in drawn.queries:
            tally.asked.append(sql)
            try:
                got = here.answer(sql)
            except Exception as error:  # noqa: BLE001 - any error is a finding
                tally.different += 1
                yield f"{sql}\n  raises {type(error).__name__}: {error}"
                continue
            if isinstance(got, Failure) and got.condition is None:
                tally.refused[got.message.splitlines()[0][:120]] += 1
                continue
            expected = theirs.answer(sql)
            words = _difference(expected, got)
            if words is None:
                tally.same[drawn.kind] += 1
                tally.errors += isinstance(got, Failure)
            else:
                tally.different += 1
                yield f"{sql}\n  {words}"


def _difference(expected: Outcome, got: Outcome) -> str | None:
    """What differs. Where both fail by a value, either may have met another value first."""
    if all(isinstance(one, Failure) and (one.sqlstate or "")[:2] in _OF_VALUES for one in (expected, got)):
        return None
    if isinstance(expected, Answer) and isinstance(got, Answer):
        return difference(expected, got, approximate=True)
    return difference(expected, got)


def _numbers(options: argparse.Namespace) -> Iterator[tuple[int, int]]:
    """The seed and number of each case."""
    if options.case is not None:
        yield options.seed, options.case
    elif options.minutes:
        end, seed = time.monotonic() + options.minutes * 60, secrets.randbelow(10**9)
        for number in count():
            if time.monotonic() > end:
                return
            yield seed, number
    else:
        for number in range(-(-options.count // QUERIES)):
            yield options.seed, number


def main() -> None:
    """Compare, and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.campaign.run", description=__doc__)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--case", type=int)
    options = parser.parse_args()
    tally = Tally()
    with Subject() as subject:
        forms = signatures(subject)
    with SparkOracle() as spark:
        for seed, number in _numbers(options):
            for words in compare(case(seed, number, forms), spark, tally):
                print(f"seed {seed}, case {number}: {words}\n", flush=True)
    print("\n".join(tally.lines()))
    sys.exit(bool(tally.different))


if __name__ == "__main__":
    main()
