"""The relation that a statement changes, as the lane to Spark reads its name."""

import pytest

from sqlfront.spark.lane import _TARGET
from sqlfront_planner.statements.dotted_names import name_parts


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("DROP TABLE IF EXISTS `a b`", ("a b",)),
        ("insert into `a-b`.`c``d` values (1)", ("a-b", "c`d")),
        ("UPDATE /* all */ a.b.c SET x = 1", ("a", "b", "c")),
        ("CREATE OR REPLACE TEMP VIEW `` AS SELECT 1", ("",)),
        ("INSERT INTO t(a) SELECT 1", ("t",)),
    ],
)
def test_the_target_of_a_statement_is_read_whole(text: str, parts: tuple[str, ...]) -> None:
    target = _TARGET.match(text)
    assert target is not None
    assert name_parts(target[1]) == parts
