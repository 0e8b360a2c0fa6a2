"""The questions of :mod:`benchmarks.areas`, by area: a query of one row, in Spark's SQL and in DuckDB's."""

from typing import Final, NamedTuple


class Case(NamedTuple):
    """A question that both engines answer with one row.

    ``table``: the table whose rows are counted. ``duckdb_sql``: None if DuckDB lacks the function; Spark
    is the peer then. ``exact``: whether the answers are equal (floats to 1e-9); estimates may differ by a
    seventh.
    ``before``: statements that both run before each turn, ``after``: a query of the answer for a statement
    without rows; their time doesn't count.
    """

    area: str
    name: str
    table: str
    spark_sql: str
    duckdb_sql: str | None
    exact: bool = True
    before: tuple[str, ...] = ()
    after: str = ""


_EVENT: Final = (
    "id BIGINT, name STRING, price DOUBLE, tags ARRAY<STRING>, place STRUCT<zip: INT>, ts TIMESTAMP"
)
_PEER_EVENT: Final = (
    '{"id":"BIGINT","name":"VARCHAR","price":"DOUBLE","tags":["VARCHAR"],"place":{"zip":"INTEGER"},'
    '"ts":"TIMESTAMPTZ"}'
)
_SESSIONS: Final = """
SELECT count(*), max(n) FROM (
  SELECT g, s, count(*) AS n FROM (
    SELECT g, sum(CASE WHEN b IS NULL OR ts > b + INTERVAL 1 HOUR THEN 1 ELSE 0 END)
      OVER (PARTITION BY g ORDER BY ts) AS s
    FROM (SELECT g, ts, lag(ts) OVER (PARTITION BY g ORDER BY ts) AS b FROM flat)) GROUP BY g, s)"""
_MERGE: Final = """
MERGE INTO changed AS t USING changes AS s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v
WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)"""
_TREE: Final = """
WITH RECURSIVE below AS (
  SELECT id, 0 AS depth FROM tree WHERE parent = -1
  UNION ALL
  SELECT tree.id, depth + 1 FROM below JOIN tree ON tree.parent = below.id)
SELECT count(*), sum(depth) FROM below"""
_COUNTING: Final = """
WITH RECURSIVE steps(n, s) AS (
  SELECT id, 0 FROM points WHERE id < 10000 UNION ALL SELECT n, s + 1 FROM steps WHERE s < 90)
SELECT count(*), sum(s) FROM steps"""


def _same(area: str, name: str, table: str, sql: str) -> Case:
    """Return a case that both engines write alike."""
    return Case(area, name, table, sql, sql)


def _over(table: str, spark: str, duckdb: str | None) -> tuple[str, str, str | None]:
    """Return the table and the queries of the expressions ``spark`` and ``duckdb`` over it."""
    return table, f"SELECT {spark} FROM {table}", duckdb and f"SELECT {duckdb} FROM {table}"


_GENERATORS: Final = (
    Case(
        "generators",
        "explode",
        "arrays",
        "SELECT sum(x) FROM arrays LATERAL VIEW explode(a) e AS x",
        "SELECT sum(x) FROM (SELECT unnest(a) AS x FROM arrays)",
    ),
    Case(
        "generators",
        "explode strings, group by",
        "arrays",
        "SELECT count(*), max(n) FROM"
        " (SELECT x, count(*) AS n FROM arrays LATERAL VIEW explode(w) e AS x GROUP BY x)",
        "SELECT count(*), max(n) FROM"
        " (SELECT x, count(*) AS n FROM (SELECT unnest(w) AS x FROM arrays) GROUP BY x)",
    ),
    Case(
        "generators",
        "posexplode",
        "arrays",
        "SELECT sum(pos * col) FROM (SELECT posexplode(a) FROM arrays)",
        "SELECT sum(p * x) FROM (SELECT unnest(a) AS x, unnest(range(len(a))) AS p FROM arrays)",
    ),
    Case(
        "generators",
        "inline",
        "arrays",
        "SELECT sum(p), max(q) FROM (SELECT inline(s) FROM arrays)",
        "SELECT sum(s.p), max(s.q) FROM (SELECT unnest(s) AS s FROM arrays)",
    ),
)
_LAMBDAS: Final = (
    Case(
        "lambdas",
        "transform",
        *_over(
            "arrays",
            "sum(transform(a, x -> x * b + 1)[0])",
            "sum(list_transform(a, lambda x: x * b + 1)[1])",
        ),
    ),
    Case(
        "lambdas",
        "filter",
        *_over("arrays", "sum(size(filter(a, x -> x > b)))", "sum(len(list_filter(a, lambda x: x > b)))"),
    ),
    Case(
        "lambdas",
        "aggregate",
        *_over(
            "arrays",
            "sum(aggregate(a, 0L, (s, x) -> s + x))",
            "sum(list_reduce(a, lambda s, x: s + x, 0::BIGINT))",
        ),
    ),
    Case(
        "lambdas",
        "zip_with",
        *_over(
            "arrays",
            "sum(zip_with(a, a, (x, y) -> x * y)[0])",
            "sum(list_transform(list_zip(a, a), lambda z: z[1] * z[2])[1])",
        ),
    ),
    Case(
        "lambdas",
        "map_filter",
        *_over(
            "arrays",
            "sum(size(map_filter(m, (k, v) -> v > 500)))",
            "sum(cardinality(map_from_entries(list_filter(map_entries(m), lambda e: e.value > 500))))",
        ),
    ),
)
_JSON: Final = (
    Case(
        "json",
        "from_json, two fields",
        "texts",
        "SELECT sum(x.id), sum(x.price) FROM"
        " (SELECT from_json(j, 'id BIGINT, price DOUBLE') AS x FROM texts)",
        """SELECT sum(x.id), sum(x.price)
        FROM (SELECT from_json(j, '{"id":"BIGINT","price":"DOUBLE"}') AS x FROM texts)""",
    ),
    Case(
        "json",
        "from_json, all fields",
        "texts",
        f"SELECT sum(x.id), max(x.tags[1]), max(x.ts), sum(x.place.zip)"
        f" FROM (SELECT from_json(j, '{_EVENT}') AS x FROM texts)",
        f"SELECT sum(x.id), max(x.tags[2]), max(x.ts), sum(x.place.zip)"
        f" FROM (SELECT from_json(j, '{_PEER_EVENT}') AS x FROM texts)",
    ),
    Case(
        "json",
        "get_json_object",
        *_over(
            "texts",
            "max(get_json_object(j, '$.name')), max(get_json_object(j, '$.place.zip'))",
            "max(json_extract_string(j, '$.name')), max(json_extract_string(j, '$.place.zip'))",
        ),
    ),
    Case(
        "json",
        "to_json",
        *_over(
            "texts",
            "sum(length(to_json(named_struct('id', id, 'name', n, 'ts', ts))))",
            "sum(length(to_json({'id': id, 'name': n, 'ts': ts})::VARCHAR))",
        ),
    ),
    Case(
        "json",
        "to_json of arrays of structs",
        *_over("arrays", "sum(length(to_json(s)))", "sum(length(to_json(s)::VARCHAR))"),
    ),
)
_CSV: Final = (
    Case(
        "csv",
        "from_csv",
        "texts",
        "SELECT sum(x.id), sum(x.price)"
        " FROM (SELECT from_csv(c, 'id BIGINT, name STRING, price DOUBLE') AS x FROM texts)",
        None,
    ),
    Case(
        "csv",
        "to_csv",
        *_over("texts", "sum(length(to_csv(named_struct('id', id, 'name', n, 'ts', ts))))", None),
    ),
)
_VARIANTS: Final = (
    Case(
        "variants",
        "parse_json",
        *_over("texts", "count(parse_json(j))", "count(j::JSON::VARIANT)"),
    ),
    Case(
        "variants",
        "parse_json, then variant_get",
        *_over(
            "texts",
            "sum(variant_get(parse_json(j), '$.id', 'bigint'))",
            "sum(json_extract(j::JSON, '$.id')::BIGINT)",
        ),
    ),
    Case(
        "variants",
        "variant_get of a number",
        *_over("documents", "sum(variant_get(v, '$.id', 'bigint'))", "sum(json_extract(v, '$.id')::BIGINT)"),
    ),
    Case(
        "variants",
        "variant_get of a nested number",
        *_over("documents", "sum(v:place.zip::INT)", "sum(json_extract(v, '$.place.zip')::INT)"),
    ),
    Case(
        "variants",
        "variant_get of a string",
        *_over(
            "documents",
            "max(variant_get(v, '$.tags[1]', 'string'))",
            "max(json_extract_string(v, '$.tags[1]'))",
        ),
    ),
    Case("variants", "to_json", *_over("documents", "count(to_json(v))", "count(json(v)::VARCHAR)")),
)
_STRINGS: Final = (
    Case(
        "strings",
        "split",
        *_over(
            "texts",
            "sum(size(split(s, ', '))), max(split(s, ', ')[1])",
            "sum(len(string_split(s, ', '))), max(string_split(s, ', ')[2])",
        ),
    ),
    Case(
        "strings",
        "regexp_replace",
        *_over(
            "texts",
            r"max(regexp_replace(s, '([0-9]+)-([0-9]+)', '$2/$1'))",
            r"max(regexp_replace(s, '([0-9]+)-([0-9]+)', '\2/\1', 'g'))",
        ),
    ),
    Case(
        "strings",
        "regexp_extract",
        *_over(
            "texts", "max(regexp_extract(s, 'zip ([0-9]+)', 1))", "max(regexp_extract(s, 'zip ([0-9]+)', 1))"
        ),
    ),
    _same("strings", "like", "texts", "SELECT count(*) FROM texts WHERE s LIKE '%99, zip 1%'"),
    _same("strings", "levenshtein", "texts", "SELECT sum(levenshtein(n, 'customer 123456')) FROM texts"),
    Case(
        "strings",
        "format",
        *_over(
            "texts",
            "max(format_string('%s: %05d', n, id))",
            "max(printf('%s: %05d', n, id))",
        ),
    ),
    _same(
        "strings",
        "upper, substring, concat, trim",
        "texts",
        "SELECT max(trim(concat(upper(n), ' ', substring(s, 3, 12)))) FROM texts",
    ),
)
_DATES: Final = (
    Case(
        "dates",
        "date_format",
        *_over("flat", "max(date_format(ts, 'dd/MM/yyyy HH:mm'))", "max(strftime(ts, '%d/%m/%Y %H:%M'))"),
    ),
    Case(
        "dates",
        "to_timestamp with a pattern",
        *_over(
            "texts",
            "max(to_timestamp(ts, 'yyyy-MM-dd HH:mm:ss'))",
            "max(strptime(ts, '%Y-%m-%d %H:%M:%S')::TIMESTAMPTZ)",
        ),
    ),
    _same("dates", "date_trunc", "flat", "SELECT count(DISTINCT date_trunc('month', ts)) FROM flat"),
    Case(
        "dates",
        "add_months, year, dayofweek",
        *_over(
            "flat",
            "sum(year(add_months(ts, 5)) + dayofweek(ts))",
            "sum(year(ts + INTERVAL 5 MONTH) + dayofweek(ts) + 1)",
        ),
    ),
)
_MATH: Final = (
    _same("math", "sqrt, ln, power", "flat", "SELECT sum(sqrt(x) + ln(x + 1) + power(x, 0.5)) FROM flat"),
    _same("math", "floor, abs, mod", "flat", "SELECT sum(floor(abs(x - 500))), sum(mod(n, 7)) FROM flat"),
    _same("math", "sin, exp", "flat", "SELECT sum(sin(x)), sum(exp(x / 1000)) FROM flat"),
)
_ARRAYS: Final = (
    Case(
        "arrays",
        "array_distinct",
        *_over("arrays", "sum(size(array_distinct(a)))", "sum(len(list_distinct(a)))"),
    ),
    Case(
        "arrays",
        "array_union",
        *_over(
            "arrays",
            "sum(size(array_union(a, array(1L, 2L, 3L))))",
            "sum(len(list_distinct(list_concat(a, [1, 2, 3]))))",
        ),
    ),
    Case("arrays", "sort_array", *_over("arrays", "sum(sort_array(a)[0])", "sum(list_sort(a)[1])")),
    Case(
        "arrays",
        "array_contains",
        *_over("arrays", "count_if(array_contains(a, b))", "count_if(list_contains(a, b))"),
    ),
    Case("arrays", "array_join", *_over("arrays", "max(array_join(w, ';'))", "max(array_to_string(w, ';'))")),
    Case(
        "arrays",
        "collect_list",
        "flat",
        "SELECT sum(size(l)) FROM (SELECT g, collect_list(n) AS l FROM flat GROUP BY g)",
        "SELECT sum(len(l)) FROM (SELECT g, list(n) AS l FROM flat GROUP BY g)",
    ),
)
_MAPS: Final = (
    Case("maps", "element", *_over("arrays", "sum(m['k3'])", "sum(m['k3'])")),
    Case(
        "maps",
        "map_keys, map_values",
        *_over(
            "arrays",
            "max(map_keys(m)[2]), sum(map_values(m)[2])",
            "max(map_keys(m)[3]), sum(map_values(m)[3])",
        ),
    ),
    Case(
        "maps",
        "map_from_arrays",
        *_over(
            "arrays",
            "sum(map_from_arrays(map_keys(m), map_values(m))['k1'])",
            "sum(map(map_keys(m), map_values(m))['k1'])",
        ),
    ),
)
_WINDOWS: Final = (
    _same(
        "windows",
        "RANGE over numbers",
        "flat",
        "SELECT sum(s) FROM (SELECT sum(k) OVER (PARTITION BY g ORDER BY n"
        " RANGE BETWEEN 5000 PRECEDING AND 5000 FOLLOWING) AS s FROM flat)",
    ),
    _same(
        "windows",
        "RANGE over timestamps",
        "flat",
        "SELECT sum(s), max(m) FROM (SELECT count(*) OVER w AS s, max(n) OVER w AS m FROM flat"
        " WINDOW w AS (PARTITION BY g ORDER BY ts RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND CURRENT ROW))",
    ),
    _same(
        "windows",
        "ROWS, rank, lag",
        "flat",
        "SELECT sum(a), sum(r), sum(l) FROM (SELECT sum(k) OVER (PARTITION BY g ORDER BY id"
        " ROWS BETWEEN 5 PRECEDING AND CURRENT ROW) AS a, rank() OVER (PARTITION BY g ORDER BY n) AS r,"
        " lag(n) OVER (PARTITION BY g ORDER BY id) AS l FROM flat)",
    ),
    Case(
        "windows",
        "session_window",
        "flat",
        "SELECT count(*), max(n) FROM"
        " (SELECT g, count(*) AS n FROM flat GROUP BY g, session_window(ts, '1 hour'))",
        _SESSIONS,
    ),
)
_GROUPS: Final = (
    Case(
        "groups",
        "PIVOT",
        "flat",
        "SELECT sum(north), sum(west) FROM (SELECT g, q, n FROM flat)"
        " PIVOT (sum(n) FOR q IN ('north' AS north, 'east' AS east, 'south' AS south, 'west' AS west))",
        "SELECT sum(north), sum(west) FROM (PIVOT (SELECT g, q, n FROM flat)"
        " ON q IN ('north', 'east', 'south', 'west') USING sum(n) GROUP BY g)",
    ),
    _same(
        "groups",
        "GROUPING SETS",
        "flat",
        "SELECT count(*), sum(s) FROM"
        " (SELECT g, k, q, sum(n) AS s FROM flat GROUP BY GROUPING SETS ((g, k), (k, q), (q), ()))",
    ),
    _same(
        "groups",
        "CUBE",
        "flat",
        "SELECT count(*), sum(s) FROM (SELECT g, k, q, sum(n) AS s FROM flat GROUP BY CUBE (g, k, q))",
    ),
    _same(
        "groups",
        "count distinct",
        "flat",
        "SELECT count(*), sum(d) FROM (SELECT g, count(DISTINCT n) AS d FROM flat GROUP BY g)",
    ),
    _same("groups", "count distinct, no groups", "flat", "SELECT count(DISTINCT n) FROM flat"),
)
_ESTIMATES: Final = (
    Case(
        "statistics",
        "percentile",
        "flat",
        "SELECT sum(p) FROM (SELECT g, percentile(x, 0.9) AS p FROM flat GROUP BY g)",
        "SELECT sum(p) FROM (SELECT g, quantile_cont(x, 0.9) AS p FROM flat GROUP BY g)",
    ),
    Case(
        "statistics",
        "approx_percentile",
        "flat",
        "SELECT sum(p) FROM (SELECT k, approx_percentile(x, 0.9) AS p FROM flat GROUP BY k)",
        "SELECT sum(p) FROM (SELECT k, approx_quantile(x, 0.9) AS p FROM flat GROUP BY k)",
        exact=False,
    ),
    Case(
        "statistics",
        "mode",
        "flat",
        "SELECT count(m) FROM (SELECT g, mode(k) AS m FROM flat GROUP BY g)",
        "SELECT count(m) FROM (SELECT g, mode(k) AS m FROM flat GROUP BY g)",
    ),
    Case(
        "statistics",
        "approx_count_distinct",
        "flat",
        "SELECT approx_count_distinct(n) FROM flat",
        "SELECT approx_count_distinct(n) FROM flat",
        exact=False,
    ),
    Case(
        "statistics",
        "stddev, corr",
        "flat",
        "SELECT sum(s), sum(c) FROM (SELECT g, stddev(x) AS s, corr(x, n) AS c FROM flat GROUP BY g)",
        "SELECT sum(s), sum(c) FROM (SELECT g, stddev(x) AS s, corr(x, n) AS c FROM flat GROUP BY g)",
    ),
    Case(
        "sketches",
        "bitmaps",
        "flat",
        "SELECT sum(bitmap_count(b)) FROM (SELECT bitmap_bucket_number(n) AS i,"
        " bitmap_construct_agg(bitmap_bit_position(n)) AS b FROM flat GROUP BY i)",
        "SELECT sum(bit_count(b)) FROM (SELECT n // 32768 AS i, bitstring_agg(n % 32768, 0, 32767) AS b"
        " FROM flat GROUP BY i)",
    ),
    Case(
        "sketches",
        "hll_sketch_agg",
        *_over("flat", "hll_sketch_estimate(hll_sketch_agg(n))", None),
        exact=False,
    ),
    Case(
        "sketches",
        "hll_union_agg",
        "flat",
        "SELECT hll_sketch_estimate(hll_union_agg(h))"
        " FROM (SELECT hll_sketch_agg(n) AS h FROM flat GROUP BY k)",
        None,
        exact=False,
    ),
)
_RELATIONS: Final = (
    Case(
        "relations",
        "MERGE",
        "target",
        _MERGE,
        _MERGE,
        before=("DROP TABLE IF EXISTS changed", "CREATE TABLE changed AS SELECT * FROM target"),
        after="SELECT count(*), sum(v) FROM changed",
    ),
    _same("relations", "WITH RECURSIVE, a tree", "tree", _TREE),
    _same("relations", "WITH RECURSIVE, ninety levels", "points", _COUNTING),
    _same(
        "relations",
        "LATERAL top-n",
        "flat",
        "SELECT sum(x) FROM (SELECT DISTINCT g FROM points) AS p,"
        " LATERAL (SELECT x FROM flat WHERE flat.g = p.g ORDER BY x DESC LIMIT 3)",
    ),
    _same(
        "relations",
        "LATERAL by range, the last before",
        "points",
        "SELECT sum(m) FROM points AS p,"
        " LATERAL (SELECT f.n AS m FROM points AS f WHERE f.n < p.n ORDER BY f.n DESC LIMIT 1)",
    ),
    _same(
        "relations",
        "LATERAL by range, a sum",
        "points",
        "SELECT sum(m) FROM points AS p, LATERAL (SELECT sum(f.g) AS m FROM points AS f WHERE f.n < p.n)",
    ),
)

#: All cases, in the order of the table.
CASES: Final[tuple[Case, ...]] = (
    *_GENERATORS,
    *_LAMBDAS,
    *_JSON,
    *_CSV,
    *_VARIANTS,
    *_STRINGS,
    *_DATES,
    *_MATH,
    *_ARRAYS,
    *_MAPS,
    *_WINDOWS,
    *_GROUPS,
    *_ESTIMATES,
    *_RELATIONS,
)
