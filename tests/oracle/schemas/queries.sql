-- Columns, literals, casts
SELECT id, id + 1, -id, id / 2, id % 2, CAST(id AS STRING), CAST(id AS DECIMAL(5, 2)) FROM range(3)
SELECT 1 AS a, NULL AS b, CAST(NULL AS INT) AS c, CAST('1' AS INT) AS d, TRY_CAST('1' AS INT) AS e, '2' + 1 AS f
SELECT a, b, a + b, a = b, a <=> b, a IS NULL, NOT a > 1, a IN (1, b), a BETWEEN 0 AND b FROM VALUES (1, 2), (3, NULL) AS t(a, b)
SELECT a, a.x, a.y FROM VALUES (named_struct('x', 1, 'y', CAST(NULL AS STRING))) AS t(a)
SELECT array(1, 2), array(1, NULL), array(), map('a', 1), map('a', NULL), struct(1, NULL)
SELECT array(1, 2)[0], array(1, 2)[id], map('a', 1)['a'], element_at(map('a', 1), 'b') FROM range(1)
SELECT CASE WHEN id > 1 THEN 'a' ELSE 'b' END, CASE WHEN id > 1 THEN 'a' END, if(id > 1, 1, NULL), nullif(id, 1) FROM range(3)
SELECT coalesce(b, 0), nvl(b, a), nvl2(b, a, 1), ifnull(b, b), greatest(a, b), least(b, b) FROM VALUES (1, 2), (3, NULL) AS t(a, b)
SELECT current_date() IS NULL, current_timestamp() > TIMESTAMP '2020-01-01 00:00:00', DATE '2020-01-01' + 1, DATE '2020-01-01' - DATE '2019-01-01'
SELECT concat('a', b), a || 'x', upper(b), length(a), a LIKE 'b%', substring(a, 1, 1), trim(a) FROM VALUES ('a', 'b'), ('c', NULL) AS t(a, b)
-- Joins
SELECT * FROM range(3) a JOIN range(2) b ON a.id = b.id
SELECT a.id, b.id AS other FROM range(3) a LEFT JOIN range(2) b ON a.id = b.id
SELECT a.id, b.id AS other FROM range(3) a RIGHT JOIN range(2) b ON a.id = b.id
SELECT a.id, b.id AS other FROM range(3) a FULL JOIN range(2) b ON a.id = b.id
SELECT * FROM range(3) a LEFT SEMI JOIN range(2) b ON a.id = b.id
SELECT * FROM range(3) a LEFT ANTI JOIN range(2) b ON a.id = b.id
SELECT * FROM range(3) JOIN range(2) USING (id)
SELECT * FROM range(3) LEFT JOIN range(2) USING (id)
SELECT * FROM range(3) RIGHT JOIN range(2) USING (id)
SELECT * FROM range(3) FULL JOIN range(2) USING (id)
SELECT * FROM range(3) NATURAL JOIN range(2)
SELECT * FROM range(3) a CROSS JOIN range(2) b
-- Aggregates and windows
SELECT count(*), count(id), sum(id), avg(id), min(id), max(id), first(id), last(id), any_value(id), stddev(id) FROM range(3)
SELECT id % 2 AS k, id AS g, count(DISTINCT id), collect_list(id), collect_set(id), bool_and(id > 1), count_if(id > 1) FROM range(3) GROUP BY id % 2, id
SELECT k, grouping(k), grouping_id(), count(*) FROM (SELECT id AS k FROM range(3)) GROUP BY ROLLUP (k)
SELECT a, b, count(*) FROM VALUES (1, 2), (3, NULL) AS t(a, b) GROUP BY CUBE (a, b)
SELECT a, b, count(*) FROM VALUES (1, 2), (3, NULL) AS t(a, b) GROUP BY GROUPING SETS ((a), (a, b))
SELECT DISTINCT a, b FROM VALUES (1, 2), (3, NULL) AS t(a, b)
SELECT id, row_number() OVER (ORDER BY id), rank() OVER (ORDER BY id), ntile(2) OVER (ORDER BY id), percent_rank() OVER (ORDER BY id) FROM range(3)
SELECT lag(id) OVER (ORDER BY id), lead(id, 1, 0L) OVER (ORDER BY id), sum(id) OVER (ORDER BY id), count(*) OVER (), first_value(id) OVER (ORDER BY id), nth_value(id, 2) OVER (ORDER BY id) FROM range(3)
SELECT percentile(id, 0.5), median(id), mode(id), max_by(id, id), min_by(id, id), approx_count_distinct(id) FROM range(3)
-- Set operations, subqueries, generators, the rest
SELECT 1 AS a UNION ALL SELECT NULL
SELECT 1 AS a UNION SELECT 2
SELECT 1 AS a INTERSECT SELECT NULL
SELECT 1 AS a EXCEPT SELECT NULL
SELECT NULL AS a EXCEPT SELECT 1
SELECT (SELECT 1) AS a, EXISTS (SELECT 1) AS b, 1 IN (SELECT 1) AS c, 1 IN (SELECT NULL) AS d
SELECT (SELECT max(id) FROM range(2)) AS a, (SELECT count(*) FROM range(2)) AS b
SELECT id, (SELECT count(*) FROM range(2) b WHERE b.id = a.id) AS c FROM range(3) a
SELECT explode(array(1, 2)) AS a
SELECT explode(array(1, NULL)) AS a
SELECT explode(map('a', 1, 'b', NULL))
SELECT posexplode(array(1, 2))
SELECT explode_outer(array(1, 2)) AS a
SELECT inline(array(struct(1, 'a'), struct(2, NULL)))
SELECT stack(2, 1, 'a', 2, NULL)
SELECT id, x FROM range(2) LATERAL VIEW explode(array(1, 2)) t AS x
SELECT id, x FROM range(2) LATERAL VIEW OUTER explode(array(1, 2)) t AS x
SELECT transform(array(1, 2), x -> x + 1), filter(array(1, NULL), x -> x IS NOT NULL), exists(array(1, 2), x -> x > 1), aggregate(array(1, 2), 0, (a, x) -> a + x)
SELECT transform_values(map('a', 1), (k, v) -> v + 1), transform_keys(map('a', 1), (k, v) -> upper(k)), map_filter(map('a', 1), (k, v) -> v > 0), zip_with(array(1), array(2), (a, b) -> a + b)
WITH c AS (SELECT id, NULLIF(id, 0) AS n FROM range(3)) SELECT c.id, d.n FROM c JOIN c d ON c.id = d.id WHERE d.n IS NOT NULL ORDER BY 1 LIMIT 1
SELECT * FROM (SELECT id AS k, id AS v FROM range(3)) PIVOT (sum(v) FOR k IN (0, 1))
SELECT * FROM (SELECT id AS k, id AS a, id AS b FROM range(3)) UNPIVOT (v FOR n IN (a, b))
SELECT * FROM VALUES (1, 'a', 1.5), (2, 'b', 2.5)
SELECT * FROM VALUES (1), (NULL)
SELECT from_json('{"a":1}', 'a INT, b ARRAY<STRING>'), to_json(struct(1)), from_csv('1', 'a INT')
