-- Statements of sqlfront's own tests, drawn once: what the test command changes must not change by itself.
/* one /* two */ one */ SELECT 1 AS one
CREATE OR REPLACE TEMPORARY VIEW v AS SELECT 'replaced' AS r
CREATE TABLE IF NOT EXISTS q (x INT) USING parquet
CREATE TABLE p (id INT, s STRING, d DECIMAL(10, 2)) USING parquet
CREATE TABLE q USING parquet AS SELECT id, s FROM p
CREATE TEMPORARY VIEW IF NOT EXISTS v AS SELECT 1
CREATE TEMPORARY VIEW default.other (a INT) USING csv
CREATE TEMPORARY VIEW empty AS SELECT id, g, i, d, x FROM a WHERE id > 100
CREATE TEMPORARY VIEW s AS SELECT * FROM VALUES (1, '12'), (2, ' 7 '), (3, '-3'), (4, '+4'), (5, NULL) AS s(id, s)
CREATE TEMPORARY VIEW t AS SELECT * FROM VALUES (1, 10), (2, 10), (3, 20), (1, 30) AS t(a, b)
CREATE TEMPORARY VIEW w AS SELECT * FROM VALUES ('a', 1), ('b', 2), ('a', 2), (NULL, 2) AS w(s, i)
CREATE VIEW lasting AS SELECT 1
DROP VIEW `e-f`
DROP_ME nope
INSERT INTO p VALUES (3000000000, 's', 1.5)
SELECT
SELECT 'Spark SQL' rlike 'S.*k'
SELECT 'abc' LIKE 'a%' AND 'abc' LIKE '%c', 'a' || 'b' LIKE 'ab'
SELECT 'abc' LIKE 'a\\b'
SELECT 'abc', "abc", '', 'it''s', 'it\'s'
SELECT 'it''s', 'a"b', '`', 'a\nb'
SELECT 'é' = 'e\u0301', '😀' > 'ﬁ', 'Z' < 'a', 'a' < 'é', length('👨‍👩‍👧'), char_length('\U0001F600')
SELECT (SELECT w FROM none) IS NULL, (SELECT count(*) FROM none), (SELECT sum(w) FROM none)
SELECT (a > 1) AND (b > 1) AS both FROM v
SELECT (a, b) = (1, 1), (a, b) IN ((1, 2), (2, 2)), (a, b) < (2, 2) FROM v
SELECT * FROM (SELECT * FROM (SELECT 1 AS x) AS a) AS b
SELECT * FROM VALUES (float('3.5'), 1, array(1)), (1, 1L, array(float('1'))), (1Y, float('2'), NULL)
SELECT * FROM VALUES (struct(1, 'x')) AS t(a, b)
SELECT * FROM a EXCEPT SELECT * FROM b
SELECT * FROM l x, l y NATURAL JOIN r WHERE y.v = 99
SELECT * FROM t WHERE id NOT 1
SELECT * FROM v
SELECT - 'abc'
SELECT 1 ! = 2
SELECT 1 !> 2, 1 !< 2
SELECT 1 % 0
SELECT 1 /* /* */
SELECT 1 /* /* a */ b */ + 1
SELECT 1 < 2
SELECT 1 AS a, 2 AS a, 3 AS A
SELECT 12 LIKE '1%', DATE'2020-01-01' LIKE '2020%', true LIKE 't%', X'61' LIKE 'a'
SELECT 127Y + 1Y
SELECT 1L AND 1D
SELECT 2 BETWEEN 1 AND 3 AND true, 5 NOT BETWEEN 1 AND 3
SELECT 2147483647L + 1, 2147483646 + 1
SELECT 5 - -3, 5 - (-3), 2 + 3 * 4 - 6 DIV 4, 10 - 2 * 3 % 4
SELECT 99999999999999999999L
SELECT CASE END
SELECT CASE WHEN (SELECT count(*) FROM none) = 0 THEN 'none' ELSE 'some' END
SELECT CASE WHEN i = 1 THEN array(NULL) END, coalesce(if(i = 1, array(NULL), NULL), array(NULL, NULL)) FROM w
SELECT CASE WHEN p THEN a END, CASE WHEN p THEN a ELSE b END, CASE a WHEN 1 THEN 'one' END, CASE a WHEN 1 THEN 'one' ELSE 'other' END FROM t
SELECT CASE WHEN true THEN 1 ELSE 'a' END
SELECT CASE WHEN true THEN 1 ELSE 2.5 END, CASE WHEN false THEN 1 ELSE 2L END, CASE WHEN true THEN NULL ELSE 1 END
SELECT CASE s WHEN array(1) THEN 1 END FROM t
SELECT CAST('2020-01-31 10:11:12.5' AS TIMESTAMP_NTZ), CAST('2020-01-31' AS TIMESTAMP_NTZ), CAST('2020-01-31 10:11' AS TIMESTAMP)
SELECT CAST('5' AS INT), try_cast('5' AS INT), '5'::INT, int('5')
SELECT CAST(1 AS DECIMAL(5, 6))
SELECT CAST(1 AS array<map>)
SELECT CAST(10 AS DECIMAL(10, 0)) / CAST(3 AS DECIMAL(10, 0)), CAST(10 AS DECIMAL(18, 2)) / CAST(3 AS DECIMAL(18, 2))
SELECT CAST(128 AS TINYINT)
SELECT CAST(1e19D AS BIGINT)
SELECT CAST(2147483648.5 AS INT)
SELECT CAST(X'616263' AS STRING), CAST(X'' AS STRING)
SELECT CAST(double('NaN') AS BOOLEAN), CAST(-0.0D AS BOOLEAN), CAST(0.1F AS BOOLEAN), CAST(0.0 AS BOOLEAN)
SELECT DATE'2020-01-01' + DATE'2020-01-01'
SELECT DISTINCT id, s FROM t
SELECT DISTINCT s FROM empty
SELECT INTERVAL '1' DAY DIV INTERVAL '0' HOUR
SELECT NOT id FROM t
SELECT NOT true
SELECT NULL / 1.5, 1.5 / NULL, try_divide(NULL, 1.5), NULL * 1.5, NULL % 1.5, NULL div 1.5
SELECT NULL, null
SELECT TIMESTAMP '2020' '-01-01'
SELECT `q``r`.a FROM `q``r`
SELECT a % 2 AS a, count(*) AS n FROM t GROUP BY a ORDER BY a, n
SELECT a % 2 AS x, sum(b) AS b FROM t GROUP BY x HAVING sum(b) > 10
SELECT a + 1 AS a, count(*) AS n FROM t GROUP BY a + 1 HAVING a + 1 = 3
SELECT a + 1 AS b FROM t GROUP BY b
SELECT a + 1 AS b, count(b) FROM t GROUP BY a
SELECT a + 1 AS x, count(*) AS n FROM t GROUP BY a + 1 HAVING a + 1 = 3
SELECT a + 1 AS x, x + 1 AS y FROM t GROUP BY y
SELECT a AS b, 2 AS c, count(*) FROM t GROUP BY 1, c
SELECT a AS b, count(*) AS a FROM t GROUP BY ALL
SELECT a AS b, count(*) AS a FROM t GROUP BY a HAVING a > 1
SELECT a AS b, count(*) FROM t GROUP BY GROUPING SETS ((a), ())
SELECT a AS x, count(*) FROM t GROUP BY x, x
SELECT a IS NULL, a IS NOT NULL, p IS TRUE, p IS NOT FALSE, p IS UNKNOWN, a IS DISTINCT FROM b, a IS NOT DISTINCT FROM b FROM t
SELECT a NOT IN (1) NOT IN (true) FROM t
SELECT a, (SELECT max(w) FROM u WHERE tid = a) FROM named
SELECT a, FROM trailing
SELECT a, FROM trailing, t
SELECT a, b, FROM
SELECT a, fetch FROM (SELECT 1 AS a, 2 AS fetch)
SELECT a, from FROM (SELECT 1 AS a, 2 AS from)
SELECT a, into FROM (SELECT 1 AS a, 2 AS into)
SELECT a, some FROM (SELECT 1 AS a, 2 AS some)
SELECT a.n, b.n FROM f a JOIN f b ON a.x = b.x
SELECT a.s, b.s FROM l a JOIN l b ON a.k = b.k AND a.s < b.s
SELECT array(1) = array('1')
SELECT array(region), count(*) FROM sales GROUP BY array(region)
SELECT array(x), struct(x), count(*) FROM VALUES (-0.0D), (0.0D), (1D), (NULL) AS v(x) GROUP BY array(x), struct(x)
SELECT array_contains(array(1, 2), '1')
SELECT array_contains(array(1, 2), 2)
SELECT array_position(array(NULL), NULL)
SELECT asinh(0)
SELECT b, sum(n), avg(n), min(n), max(n), sum(m), avg(m), sum(w), avg(w), sum(DISTINCT n), max(w), min(m) FROM v GROUP BY b
SELECT bool_and(id > 0) FILTER (WHERE id > 1), count(*) FILTER (WHERE false) FROM t
SELECT char_length('naïve 😀')
SELECT char_length(array(1))
SELECT coalesce(a, raise_error('x')), typeof(raise_error('x')), try_make_timestamp(2024, 1, 1, 1, 1, 1, 'UTC') FROM t
SELECT concat_ws(',', 'a', NULL, 'b'), concat_ws('-', array('x', NULL, 'y'), 'z'), concat_ws(','), concat_ws(NULL, 'a', 'b'), concat('a', NULL), concat()
SELECT contains('Spark SQL', 'k S')
SELECT conv('100', 2, 10), conv('ff', 16, 10), conv('zz', 36, 10)
SELECT count() FROM a
SELECT count(*) FROM t WHERE CAST(s AS INT) = 1
SELECT current_date() - current_date(), date_add(current_date(), 1) > current_date(), curdate() = current_date()
SELECT date'2020-01-01' - NULL, NULL - date'2020-01-01', NULL - timestamp'2020-01-01', date'2020-01-01' - a FROM VALUES (NULL) t(a)
SELECT date_format(date_from_unix_date(-1000000), 'yyyy-MM-dd')
SELECT date_format(date_from_unix_date(-106751992), 'yyyy-MM-dd')
SELECT date_format(date_from_unix_date(106751991), 'yyyy-MM-dd HH')
SELECT date_format(date_from_unix_date(2147483647), 'yyyy-MM-dd')
SELECT dateadd(MONTH, 1, dt), timestampadd(HOUR, 1, ts), datediff(DAY, dt, dt), timestampdiff(HOUR, ts, ts) FROM t
SELECT dayofweek(date'2016-07-30')
SELECT decode(1, 1, 'one', 2, 'two', 'other'), decode(3, 1, 'one', 'other'), decode(NULL, NULL, 'null'), decode(9, 1, 'one')
SELECT double('NaN') = double('NaN'), double('NaN') <=> double('NaN'), double('NaN') > double('Infinity'), 0.0D = -0.0D, 0.0D <=> -0.0D
SELECT double('NaN') INTERSECT SELECT double('NaN')
SELECT element_at(array(1, 2), -1)
SELECT element_at(map('a', 1), 'a'), map('a', 1)['a'], element_at(map('a', 1), 'z'), try_element_at(map('a', 1), 'z')
SELECT expm1(0)
SELECT extract(NOPE FROM DATE'2020-01-01')
SELECT extract(YEAR FROM INTERVAL '14' MONTH)
SELECT extract(month from interval '1-2' year to month)
SELECT extract(year from interval '1-2' year to month)
SELECT factorial(5)
SELECT fetch, a FROM (SELECT 1 AS a, 2 AS fetch)
SELECT flatten(array(1))
SELECT g, count(DISTINCT i), sum(DISTINCT i), count(i) FROM a GROUP BY g
SELECT g, i FROM a GROUP BY g
SELECT g, stddev(i), var_pop(i), stddev_pop(id) FROM a GROUP BY g
SELECT g, sum(i) FROM a GROUP BY g ORDER BY sum(i) NULLS LAST, g
SELECT get(array(1, 2), 2)
SELECT get_json_object('{"\\ud800":1}', '$')
SELECT get_json_object('{"a":["\\ud800x"]}', '$.a[*]')
SELECT get_json_object('{"a":["x\\ud800"]}', '$.a')
SELECT get_json_object('{"a":[1,{"b":["\\ud800"]}]}', '$.a[*].b[*]')
SELECT get_json_object('{"a":[{"b":[{"c":"\\ud800"}]}]}', '$.a[0].b')
SELECT greatest('a', DATE'2020-01-01')
SELECT greatest(1, 2), least(1, 2), max(id), min(id) FROM t
SELECT greatest(1, 2.5, 3L), least(1, 2.5, 3L), greatest(1, NULL, 3), least(NULL, NULL)
SELECT greatest(1.5, 2.25), least(1.5, 2), array(1.5, 2), array(1.25, NULL, 10)
SELECT i AS g, count(*) FROM a GROUP BY g
SELECT i FROM VALUES (INTERVAL '1' DAY), (INTERVAL '-1' DAY), (NULL) AS t(i) ORDER BY i
SELECT id % 7, sum(n), avg(n), min(n), max(n), sum(m), avg(m), sum(w), avg(w), sum(DISTINCT n), max(w), min(m) FROM v GROUP BY id % 7
SELECT id * 2 FROM range(1, 10, 3)
SELECT id + 1 AS a1, a1 + a1 AS a2, a2 + a2 AS a3, a3 + a3 AS a4, a4 + a4 AS a5, a5 + a5 AS a6, a6 + a6 AS a7, a7 + a7 AS a8, a8 + a8 AS a9 FROM range(3)
SELECT id FROM c ORDER BY CASE WHEN a IS NULL THEN 0 ELSE 1 END, a
SELECT id FROM f WHERE x > 1
SELECT id FROM o LIMIT id
SELECT id FROM s WHERE s LIKE '%b%'
SELECT id FROM s WHERE s LIKE 'a_c'
SELECT id FROM s WHERE s REGEXP '[A-Z]'
SELECT id FROM t GROUP BY nope
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.tid = t.id LIMIT 1)
SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u)
SELECT id FROM t WHERE id = 2 AND v IS NULL
SELECT id FROM t WHERE id IN (SELECT DATE'2020-01-01')
SELECT id FROM t WHERE id IN (SELECT tid FROM u WHERE EXISTS (SELECT 1 FROM nonulls n WHERE n.tid = u.tid AND n.w = u.w))
SELECT id FROM t WHERE v > (SELECT avg(v) FROM t)
SELECT id FROM t WHERE v NOT IN (SELECT w FROM nonulls)
SELECT id FROM v WHERE NULL OR true
SELECT id FROM v WHERE a < 99999999999999999999.0
SELECT id FROM v WHERE a > 1 OR b > 1
SELECT id, (SELECT count(*) FROM u WHERE tid = id HAVING count(*) > 1) FROM t
SELECT id, (SELECT w FROM u WHERE tid = id ORDER BY w DESC LIMIT 1) FROM t
SELECT id, (SELECT w FROM u WHERE tid = id ORDER BY w LIMIT 1 OFFSET 1) FROM t
SELECT id, CAST(d AS INT), CAST(d AS BIGINT), CAST(d AS FLOAT), CAST(d AS BOOLEAN) FROM x WHERE id <> 5
SELECT id, CAST(s AS FLOAT), CAST(s AS DOUBLE), CAST(s AS DECIMAL(5, 2)), CAST(s AS BINARY) FROM s
SELECT id, DATE'2020-01-31' + ym, TIMESTAMP'2020-01-31 00:00:00' + dt FROM i
SELECT id, a + b, a - b, a * b FROM d
SELECT id, a DIV b FROM ints
SELECT id, a FROM ints WHERE a * 2 > 10
SELECT id, a FROM o ORDER BY -1
SELECT id, array_repeat(id, id - 1), concat(a, array(8)), a || a, slice(a, 2, 2), slice(a, -2, 1) FROM c
SELECT id, coalesce(n, m), if(b, n, w), CASE WHEN b THEN n ELSE i END, nullif(n, 0) FROM v
SELECT id, concat(s, '-', u), s || u, concat_ws('/', s, u, NULL), repeat(s, 2), lpad(s, 6, '*'), rpad(s, 6, 'ab'), lpad(s, 3) FROM v
SELECT id, d + f, d - f, d * 2, d * d, try_divide(d, f), d % 7, abs(d), -d, sign(d) FROM v
SELECT id, date_part('year', d), date_part('DAYOFWEEK_ISO', d), datepart('month', d) FROM d
SELECT id, length(s), char_length(s), character_length(s), len(s), octet_length(s), bit_length(s) FROM s
SELECT id, m * m FROM wide
SELECT id, n + m, n - m, n * m, n + w, w - n, w * n FROM v
SELECT id, rank() OVER (PARTITION BY g ORDER BY v), dense_rank() OVER (PARTITION BY g ORDER BY v) FROM w
SELECT id, s FROM o ORDER BY lower(s), id
SELECT id, s FROM o ORDER BY s DESC
SELECT id, s LIKE 'a%', s LIKE '%b%', s LIKE '_', s ILIKE 'A%', s RLIKE '[0-9]+', s LIKE '%\\%%', startswith(s, 'a'), contains(s, 'b') FROM v
SELECT id, s, length(s), octet_length(s) FROM u
SELECT id, shiftleft(a, 2), shiftright(a, 1), shiftrightunsigned(a, 28) FROM ints
SELECT id, sin(x), cos(x), tan(x), atan(x), atan2(x, 1), sinh(x), cosh(x), tanh(x) FROM m
SELECT id, split(s, ','), split(s, ',', 2), split(s, '') FROM s
SELECT id, startswith(s, 'He'), endswith(s, 'd'), contains(s, 'lo'), startswith(s, '') FROM s
SELECT id, sum(v) FILTER (WHERE v > 5) OVER (ORDER BY id) FROM w
SELECT id, sum(v) OVER (PARTITION BY g ORDER BY v) FROM w WHERE id > 100
SELECT id, x % 1, -x, abs(x) FROM floats
SELECT id, x / y FROM floats WHERE y <> 0
SELECT id, ym + INTERVAL '1' MONTH, ym * 2, -ym, ym / 2 FROM i
SELECT instr('abc', ''), instr('', 'a'), locate('', 'abc'), locate('b', 'abcb', 0), locate('b', NULL), locate('b', 'abcb', 3)
SELECT is_valid_utf8('abc')
SELECT isnull(1), isnotnull(NULL)
SELECT json_array_length(1)
SELECT k FROM a EXCEPT SELECT array(1)
SELECT k FROM a UNION ALL (SELECT k FROM b EXCEPT SELECT 3)
SELECT k FROM a UNION SELECT k FROM b EXCEPT SELECT 3
SELECT l.k FROM l LEFT JOIN r
SELECT l.k, r.k, s, t FROM l LEFT JOIN r ON l.k = r.k
SELECT l.k, x FROM l JOIN VALUES (2.0D, 'two'), (3.5D, 'three') AS q(k, x) ON l.k = q.k
SELECT l.s, r.t, big.w FROM l LEFT JOIN (r JOIN big ON r.k = big.k) ON l.k = r.k
SELECT levenshtein('kitten', 'sitting'), levenshtein('', 'abc'), levenshtein('kitten', 'sitting', 2)
SELECT log(2, 8)
SELECT lower(region), upper(region) FROM sales GROUP BY region
SELECT map_concat(map(1, 'a'), map(2, 'b'))
SELECT max(a) AS b FROM t GROUP BY b HAVING b > 1
SELECT max(a) AS b FROM t GROUP BY b ORDER BY b
SELECT min(k), max(k) FROM floats
SELECT min(t), max(t), max(t) - min(t) FROM t
SELECT monthname(DATE'2020-02-29'), dayname(DATE'2020-02-29'), day('2020-02-29'), year('2020'), hour('12:30:45'), month(TIMESTAMP_NTZ'2020-02-29')
SELECT months_between(timestamp_micros(-9223372036854775808L), timestamp_micros(9223372036854775807L))
SELECT n FROM VALUES (1.5BD), (-2.25BD), (NULL), (10BD) AS t(n) ORDER BY n
SELECT named_struct('x', 1) = named_struct('y', 1), array(named_struct('x', 1)) = array(named_struct('y', 1))
SELECT nanvl(double('NaN'), 5)
SELECT nvl(NULL, 2)
SELECT p, p = true, p <> true, p <=> NULL, p > false FROM logic
SELECT parse_url('http://a.b/c?d=e', 'HOST')
SELECT parse_url('http://a.b/c?d=e', 'QUERY', 'd')
SELECT positive(5)
SELECT printf('%s has %05.1f', 'x', 2.5D)
SELECT product AS all, year FROM sales GROUP BY all
SELECT product, sum(amount) AS total, avg(amount) AS mean FROM sales GROUP BY product ORDER BY total
SELECT q FROM (SELECT struct(a, s) AS q FROM o) ORDER BY q
SELECT q.n FROM VALUES (1), (NULL) q(n) WHERE n IS NULL
SELECT r'it''s', r'a' 'b', R"x""y", 'it''s'
SELECT r'raw\n', R"raw\t"
SELECT range(3)
SELECT regexp_count('aaa', 'a')
SELECT regexp_replace(s, 'b', 'x', p) FROM VALUES ('ab', 1) AS v(s, p)
SELECT region FROM sales GROUP BY region ORDER BY year
SELECT region, count(*) AS count FROM sales GROUP BY region ORDER BY count DESC, region NULLS LAST
SELECT region, product, sum(amount), grouping_id(), grouping_id(region, product) FROM sales GROUP BY region, product GROUPING SETS (product, (product, region))
SELECT region, sum(amount) FROM sales GROUP BY region WITH ROLLUP, product
SELECT s FROM o ORDER BY id
SELECT s, count_if(i > 0), sum(l % 1000), avg(l % 1000), max(struct(i, s)), count(DISTINCT i, s), max_by(id, id), min_by(id, id) FROM v GROUP BY s
SELECT s, t FROM l FULL JOIN e ON l.k = e.k
SELECT s, t FROM l, r
SELECT s.region, count(*) FROM sales s GROUP BY s.region
SELECT schema_of_json('{"a": 1}')
SELECT sentences('Hi there! How are you?')
SELECT sequence(1, 10000000000)
SELECT sequence(1, 3.0)
SELECT sequence(1, 5, 2)
SELECT sha('Spark')
SELECT sha2('Spark', 224), sha2('Spark', 384), sha2('Spark', 512), sha2('Spark', 0)
SELECT shiftrightunsigned(-8, 1)
SELECT sign(-1.5), sqrt(2.25), power(1.5, 2), exp(0.0), mod(7.5, 2), pmod(-7.5, 2)
SELECT sinh(0)
SELECT slice(array(1, 2), 1, -1)
SELECT st.a AS x, count(*) FROM s GROUP BY x
SELECT stack(2, 1, 'a', 2, 'b')
SELECT struct(a, b) FROM VALUES (1, 2) AS v(a, b) UNION ALL SELECT struct(x, y) FROM VALUES (3, 4) AS v(x, y)
SELECT substring('abc', 'x')
SELECT sum(1), count(NULL), sum(NULL), max(NULL), avg(NULL) FROM a
SELECT sum(1, 2)
SELECT sum(CASE WHEN a > 0 THEN 1 ELSE 0 END), count(CASE WHEN a > 0 THEN 1 END), count_if(a > 0), sum(if(a > 0, a, 0)) FROM c
SELECT sum(i) + 1, sum(i + 1), -sum(i), sum(i) / count(i), sum(i) * sum(id) FROM a
SELECT sum(i) FROM VALUES (INTERVAL '106751991' DAY), (INTERVAL '106751991' DAY) AS t(i)
SELECT sum(i) IS NULL, coalesce(sum(i), 0) FROM empty HAVING count(*) = 0
SELECT sum(n) FROM VALUES (1), (2), (3) AS q(n)
SELECT t.a AS a FROM t JOIN s ON t.a = s.a GROUP BY a
SELECT t.nope FROM t
SELECT to_char(12345.67BD, '99,999.99')
SELECT to_json(named_struct('a', 1))
SELECT trunc(date'2019-08-04', 'week')
SELECT try_cast(1 AS DATE)
SELECT try_cast(300 AS TINYINT), try_cast(1e20D AS INT), try_cast(double('NaN') AS INT), try_cast(123.45 AS DECIMAL(3, 1)), try_cast(9999999999 AS INT)
SELECT try_multiply(2147483647, 2147483647)
SELECT try_subtract(2147483647, 2147483647)
SELECT try_to_timestamp('x'), try_to_date('x'), try_to_timestamp('2020-01-01', 'yyyy-MM-dd')
SELECT typeof(1)
SELECT unix_micros(timestamp'1970-01-01 00:00:01Z')
SELECT unix_seconds(DATE'2020-01-01')
SELECT upper(array(1))
SELECT version() IS NOT NULL
SELECT x FROM (SELECT 1 AS x, 2 AS x)
SELECT x, s FROM z ORDER BY x, s
SELECT x.a, x.a + x.b FROM t AS x
SHOW FUNCTIONS FROM default LIKE year
SHOW FUNCTIONS FUNCTIONS
SHOW FUNCTIONS IN nowhere
VALUES ((1, 2)), (struct(3, 4))
VALUES (1), (2) UNION SELECT 2
WITH x AS (SELECT id FROM t) SELECT x.id, y.id FROM x LEFT JOIN x y ON x.id = y.id + 1
WITH x AS (WITH y AS (SELECT 3 AS a) SELECT a + 1 AS b FROM y) SELECT b FROM x
select 1 As Abc, 'x' aS XYZ
