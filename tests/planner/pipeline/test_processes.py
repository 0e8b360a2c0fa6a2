"""A pipeline on members in processes of their own: its functions travel as bytes, and so do its rows."""

import re
from collections import Counter

import pyarrow as pa
import pytest

from sqlfront_cluster.launchers.local import LocalCluster
from sqlfront_connectors.files.text.text_lines import text_lines
from sqlfront_planner.pipeline.aggregations import aggregation
from sqlfront_planner.pipeline.endpoints import service
from sqlfront_planner.pipeline.plan import Circumstances
from sqlfront_planner.pipeline.stages import Pipeline
from sqlfront_planner.pipeline.submission import submit
from sqlfront_values.errors import DataError
from tests.planner.pipeline.pipelines import LICENSE, WORD, rows


def test_words_are_counted_and_errors_come_back() -> None:
    def words_of(line: str) -> list[str]:
        return re.split(r"\W+", line.lower())

    def fail(member: int, word: str) -> str:
        raise ValueError(f"no {word[:0]}")

    lines = Pipeline().read(text_lines(str(LICENSE)))
    words = lines.flat_map(words_of, WORD).filter(lambda word: word != "").rebalance("word")
    counted = words.group_by("word").aggregate(count=aggregation("count")).collect()
    lines = Pipeline().read(text_lines(str(LICENSE)))
    failing = lines.map_using_service(
        service(lambda context: context.member_index), fail, pa.field("line", pa.string()), name="failing"
    ).collect()
    expected = Counter(word for word in re.split(r"\W+", LICENSE.read_text("utf-8").lower()) if word)

    with (
        LocalCluster(3, workers=1, preload=("sqlfront_connectors.registry",), user_code=True) as cluster,
        cluster.client() as client,
    ):
        circumstances = Circumstances(1, distributed=True)
        submitted = submit(counted, client.member.submit, circumstances=circumstances)
        assert dict(rows(list(submitted.batches()))) == expected  # type: ignore[arg-type]
        with pytest.raises(DataError, match=r"step 'failing', function .*fail: ValueError") as caught:
            list(submit(failing, client.member.submit, circumstances=circumstances).batches())

    assert caught.value.vertex == "failing"
    assert caught.value.member in set(cluster.processes)
