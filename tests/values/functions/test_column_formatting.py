"""Columns of times are formatted as single times are."""

import numpy as np
import pytest

from sqlfront_values.functions.time.column_formatting import format_local
from sqlfront_values.functions.time.formatting import Moment, formatter
from sqlfront_values.zones.wall_clock import wall_clock

_PATTERNS = (
    "dd/MM/yyyy HH:mm",
    "yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
    "EEE, d MMMM y h:mm a G",
    "D Q QQQ F kk K S SSSSSSSSS VV O x xx XXXXX Z",
    "yyyy-MM-dd HH:mm:ss.SSSSSS",
    "[yy]-[EEEE]",
    "'only text'",
    "",
)


@pytest.mark.parametrize("pattern", _PATTERNS)
@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "+05:30"])
@pytest.mark.parametrize("span", [(1_500_000_000, 1_700_000_000), (-9_000_000_000_000, 9_000_000_000_000)])
def test_a_column_has_the_texts_of_its_times(pattern: str, zone: str, span: tuple[int, int]) -> None:
    first, last = span
    instants = np.random.default_rng(1).integers(first * 1_000_000, last * 1_000_000, 300)
    local = wall_clock(instants, zone)
    valid = np.arange(len(local)) % 7 > 0
    write = formatter(pattern)
    moments = [
        Moment(*times, zone) for times in zip(local.tolist(), (local - instants).tolist(), strict=True)
    ]
    expected = [write(moment) if known else None for moment, known in zip(moments, valid, strict=True)]
    found = format_local(local, local - instants, zone, pattern, valid)
    found.validate(full=True)
    assert found.to_pylist() == expected
