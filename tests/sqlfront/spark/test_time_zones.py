"""The session's time zone, by all its kinds of names: what every function answers in it."""

import pytest
from pyspark.errors import IllegalArgumentException, ParseException
from pyspark.sql import SparkSession

import sqlfront
from sqlfront.spark.attached import AttachedSession
from tests.oracle.spark import SparkOracle
from tests.sampling import sampled

pytestmark = pytest.mark.spark

ZONES = ["Europe/Berlin", "America/Sao_Paulo", "+05:30", "GMT-7", "PST", "+00:00:15"]
#: Around both changes of the clocks, before standard time, and before 1970.
MOMENTS = """
SELECT timestamp(text) AS t FROM VALUES
  ('2024-03-31 00:59:59.123456Z'), ('2024-03-31 01:30:00Z'), ('2024-10-27 00:30:00Z'),
  ('2024-10-27 01:30:00Z'), ('2024-07-01 23:59:59.999999Z'), ('2024-11-03 06:30:00Z'),
  ('1969-12-31 23:59:59.5Z'),
  ('1900-01-01 12:34:56Z'), ('0005-01-01 00:00:00Z'), (NULL) AS v(text)
"""
EXPRESSIONS = """
cast(t AS string); cast(t AS date); cast(t AS timestamp_ntz); cast(cast(t AS timestamp_ntz) AS timestamp)
cast(cast(t AS string) AS timestamp); cast(cast(t AS date) AS timestamp); cast(array(t) AS string)
cast(timestamp_ntz'2024-03-31 02:30:00' AS timestamp); timestamp'2024-07-01 12:00:00 GMT+2'
timestamp'2024-07-01 12:00'; try_cast('2024-03-31 02:30:00 GMT+2' AS timestamp)
year(t); quarter(t); weekofyear(t); day(t); dayofweek(t); hour(t); minute(t); second(t); dayname(t)
extract(MINUTE FROM t); date_part('HOUR', t); trunc(t, 'MM'); to_date(t); last_day(t)
date_trunc('YEAR', t); date_trunc('WEEK', t); date_trunc('DAY', t); date_trunc('HOUR', t)
date_format(t, 'yyyy-MM-dd HH:mm:ss.SSS XXX XXXXX VV O xx'); date_format(t, 'EEE, d MMM yyyy hh:mm a')
unix_timestamp(t); unix_timestamp(left(cast(t AS string), 19)); unix_timestamp(cast(t AS date))
from_unixtime(unix_timestamp(t)); from_unixtime(unix_timestamp(t), 'yyyy HH:mm Z')
to_timestamp('2024-03-31 02:30:00'); to_timestamp('2024-10-27 02:30:00')
to_timestamp('31/03/2024 02:30', 'dd/MM/yyyy HH:mm'); to_timestamp_ltz('2024-03-31 02:30:00')
make_timestamp(2024, 3, 31, 2, 30, 0); make_timestamp(2024, 10, 27, 2, 30, 0, 'Europe/Paris')
to_utc_timestamp(t, '+05:30'); from_utc_timestamp(t, 'GMT-3'); to_utc_timestamp(t, 'PST')
convert_timezone('+02:00', cast(t AS timestamp_ntz)); current_timezone()
timestampadd(DAY, 1, t); timestampadd(HOUR, 25, t); timestampadd(SECOND, -90000, t); timestampadd(MONTH, 1, t)
t + INTERVAL '1' DAY; t + INTERVAL '25' HOUR; t - INTERVAL '1' MONTH; t + INTERVAL 25 HOURS
timestampdiff(DAY, t, timestamp'2024-12-01 00:00:00Z');
timestampdiff(HOUR, t, timestamp'2024-12-01 00:00:00Z')
timestampdiff(MONTH, t, timestamp'2024-12-01 00:00:00Z'); datediff(t, date'2024-01-01')
months_between(t, timestamp'2024-01-31 12:00:00'); add_months(t, 1); next_day(t, 'MON'); date_add(t, 3)
date'2024-07-01' - t; t - date'2024-07-01'; t < '2024-07-01 00:00:00'; t = cast(t AS date)
cast(t AS timestamp_ntz) < t; coalesce(t, date'2024-01-01'); to_json(named_struct('t', t))
sequence(date_trunc('DAY', t), date_trunc('DAY', t) + INTERVAL 3 DAYS, INTERVAL 1 DAY)
"""


def query(moments: str) -> str:
    """Each expression of the moments as a text, under its own name."""
    each = [text.strip() for text in EXPRESSIONS.replace("\n", ";").split(";") if text.strip()]
    return f"SELECT {', '.join(f'cast({text} AS string) AS `{text}`' for text in each)} FROM ({moments})"


@pytest.fixture
def beside(spark: SparkOracle) -> SparkSession:
    """A Spark session with its own settings."""
    return spark.new_session()


@pytest.mark.parametrize("zone", sampled(ZONES, 3))
def test_every_function_answers_as_spark(beside: SparkSession, zone: str) -> None:
    beside.conf.set("spark.sql.session.timeZone", zone)
    constant = "SELECT timestamp'2024-03-31 01:30:00Z' AS t"
    with AttachedSession(beside) as session:
        for text in query(MOMENTS), query(constant):
            found = session.execute(text)
            rows = found.toArrow().to_pylist()
            for ours, theirs in zip(rows, beside.sql(text).toArrow().to_pylist(), strict=True):
                assert {
                    name: (ours[name], value) for name, value in theirs.items() if ours[name] != value
                } == {}
            assert found.stats.lane != "spark"


@pytest.mark.parametrize("zone", ["utc", "+19", "+013", "UTC3", "europe/berlin", "posix/Europe/Berlin", ""])
def test_names_that_no_zone_has(beside: SparkSession, zone: str) -> None:
    with AttachedSession(beside) as session:
        with pytest.raises(sqlfront.ProgrammingError) as caught:
            session.execute(f"SET TIME ZONE '{zone}'")
        with pytest.raises(IllegalArgumentException) as theirs:
            beside.sql(f"SET TIME ZONE '{zone}'")
        assert caught.value.condition == theirs.value.getCondition()
        assert str(caught.value) == str(theirs.value)


@pytest.mark.parametrize(
    "offset",
    [
        "10 HOURS",
        "-5 HOURS",
        "'05:30' HOUR TO MINUTE",
        "'-05:30:10' HOUR TO SECOND",
        "10 HOURS 30 MINUTES",
        "0 HOURS",
    ],
)
def test_an_interval_is_an_offset(beside: SparkSession, offset: str) -> None:
    text = f"SET TIME ZONE INTERVAL {offset}"
    with AttachedSession(beside) as session:
        rows = session.sql(text).collect()
        assert rows == [tuple(row) for row in beside.sql(text).collect()]
        assert session.sql("SELECT current_timezone()").collect() == [(rows[0][1],)]


@pytest.mark.parametrize("offset", ["19 HOURS", "1 MONTH", "'1.5' SECOND"])
def test_an_interval_that_is_none(beside: SparkSession, offset: str) -> None:
    text = f"SET TIME ZONE INTERVAL {offset}"
    with AttachedSession(beside) as session:
        with pytest.raises(sqlfront.DataError) as caught:
            session.execute(text)
        with pytest.raises(ParseException) as theirs:
            beside.sql(text)
        assert caught.value.condition == theirs.value.getCondition()
