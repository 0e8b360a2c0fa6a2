-- The flights that left New York in 2013, in Spark SQL, answered by sqlfront.
--
--     make demo      (or, with the files there and in the project folder:  sqlfront -f demo/flights.sql)
--
-- Five tables: 336,776 flights, the airlines and planes that flew them, the airports they went to, and the
-- weather at New York's three airports by the hour. Each result ends with its rows, its time and its lane.

----------------------------------------------------------------------------------------------------
-- Tables over Parquet files: nothing is read yet but the files' footers.

CREATE TABLE airlines USING parquet LOCATION 'demo/work/airlines';
CREATE TABLE airports USING parquet LOCATION 'demo/work/airports';
CREATE TABLE planes   USING parquet LOCATION 'demo/work/planes';
CREATE TABLE weather  USING parquet LOCATION 'demo/work/weather';
CREATE TABLE flights  USING parquet LOCATION 'demo/work/flights';

-- Flights go into memory, as a table partitioned by the plane's tail number, with Spark's own hash.
CACHE TABLE flights CLUSTERED BY (tailnum);

SHOW TABLES;

----------------------------------------------------------------------------------------------------
-- 1. What is there? A flight that never left has no departure time; some planes aren't known.

SELECT count(*) AS flights,
       count(dep_time) AS departed,
       count(*) - count(tailnum) AS without_plane,
       count(DISTINCT tailnum) AS planes,
       count(DISTINCT dest) AS destinations,
       min(time_hour) AS first_hour,
       max(time_hour) AS last_hour
FROM flights;

-- 2. Join, group: who flies most, and how late? Minutes; an early arrival counts as negative.

SELECT a.name, count(*) AS flights, round(avg(f.arr_delay), 1) AS mean_delay, max(f.arr_delay) AS worst
FROM flights f JOIN airlines a ON f.carrier = a.carrier
GROUP BY a.name
ORDER BY flights DESC
LIMIT 8;

-- 3. Having: destinations with many flights, of which more than 3 in 10 came a quarter of an hour late.

SELECT f.dest, p.name, count(*) AS flights,
       sum(CASE WHEN f.arr_delay >= 15 THEN 1 ELSE 0 END) AS late,
       round(100 * avg(CASE WHEN f.arr_delay >= 15 THEN 1 ELSE 0 END), 1) AS percent_late
FROM flights f JOIN airports p ON f.dest = p.faa
WHERE f.arr_delay IS NOT NULL
GROUP BY f.dest, p.name
HAVING count(*) >= 500 AND avg(CASE WHEN f.arr_delay >= 15 THEN 1 ELSE 0 END) > 0.3
ORDER BY percent_late DESC, f.dest;

-- 4. Date arithmetic: delays by day of the week. 1 is Sunday.

SELECT dayofweek(make_date(year, month, day)) AS weekday,
       date_format(min(make_date(year, month, day)), 'EEEE') AS name,
       count(*) AS flights,
       count_if(dep_time IS NULL) AS cancelled,
       round(avg(dep_delay), 2) AS mean_delay
FROM flights
GROUP BY dayofweek(make_date(year, month, day))
ORDER BY weekday;

-- 5. Weather by the hour: two join keys, a CASE as grouping key, by its ordinal.

SELECT CASE WHEN w.precip = 0 THEN 'dry' WHEN w.precip < 0.1 THEN 'light rain' ELSE 'heavy rain' END AS sky,
       count(*) AS flights,
       round(avg(f.dep_delay), 1) AS mean_delay,
       round(avg(w.visib), 1) AS mean_visibility
FROM flights f JOIN weather w ON f.origin = w.origin AND f.time_hour = w.time_hour
GROUP BY 1
ORDER BY mean_delay DESC;

-- 6. All five tables: Boeings that set out into a storm, and where they went.

SELECT f.time_hour, a.name AS airline, f.tailnum, pl.model, ap.name AS destination,
       round(w.wind_gust, 1) AS gust, f.dep_delay
FROM flights f
JOIN airlines a ON f.carrier = a.carrier
JOIN planes pl ON f.tailnum = pl.tailnum
JOIN airports ap ON f.dest = ap.faa
JOIN weather w ON f.origin = w.origin AND f.time_hour = w.time_hour
WHERE pl.manufacturer = 'BOEING' AND w.wind_gust > 50 AND f.dep_time IS NOT NULL
ORDER BY gust DESC, f.dep_delay DESC, f.tailnum, f.time_hour
LIMIT 10;

-- 7. A subquery per row: the flights that were later than any other of their carrier.

SELECT f.carrier, f.flight, f.origin, f.dest, f.time_hour, f.arr_delay
FROM flights f
WHERE f.arr_delay = (SELECT max(g.arr_delay) FROM flights g WHERE g.carrier = f.carrier)
ORDER BY f.arr_delay DESC
LIMIT 5;

-- 8. NOT EXISTS: destinations that the list of airports doesn't know.

SELECT f.dest, count(*) AS flights
FROM flights f
WHERE NOT EXISTS (SELECT 1 FROM airports p WHERE p.faa = f.dest)
GROUP BY f.dest
ORDER BY flights DESC;

-- 9. Window functions over groups: each month's three days with the most cancellations, from April to June.

WITH days AS (
    SELECT month, day, count(*) AS flights, count(*) - count(dep_time) AS cancelled
    FROM flights
    GROUP BY month, day
)
SELECT month, position, day, flights, cancelled
FROM (SELECT *, row_number() OVER (PARTITION BY month ORDER BY cancelled DESC, day) AS position FROM days)
WHERE position <= 3 AND month BETWEEN 4 AND 6
ORDER BY month, position;

-- 10. A running total and the change from week to week: the first weeks of JFK.

SELECT week, flights,
       sum(flights) OVER (ORDER BY week) AS so_far,
       flights - lag(flights) OVER (ORDER BY week) AS change
FROM (
    SELECT weekofyear(make_date(year, month, day)) AS week, count(*) AS flights
    FROM flights
    WHERE origin = 'JFK' AND make_date(year, month, day) < DATE'2013-12-30'
    GROUP BY weekofyear(make_date(year, month, day))
)
ORDER BY week
LIMIT 6;

-- 11. Sets: airports reached from Newark, but neither from Kennedy nor from LaGuardia.

SELECT dest FROM flights WHERE origin = 'EWR'
EXCEPT
SELECT dest FROM flights WHERE origin IN ('JFK', 'LGA')
ORDER BY dest
LIMIT 10;

-- 12. Outer join: the makers of the planes; what the list of planes doesn't have stands as unknown.

SELECT coalesce(pl.manufacturer, 'unknown') AS maker,
       count(DISTINCT f.tailnum) AS planes, count(*) AS flights,
       round(sum(f.distance) / 1000) AS thousand_miles
FROM flights f LEFT JOIN planes pl ON f.tailnum = pl.tailnum
GROUP BY coalesce(pl.manufacturer, 'unknown')
ORDER BY flights DESC
LIMIT 8;

----------------------------------------------------------------------------------------------------
-- 13. The lookup by key, for which the table is partitioned: one partition of 271 is asked, by binary search.

SELECT month, day, carrier, flight, origin, dest, dep_delay
FROM flights
WHERE tailnum = 'N14228'
ORDER BY month, day, sched_dep_time
LIMIT 5;

-- EXPLAIN says which lane a query takes, why, and that the scan reads one key.

SELECT month, day, carrier, flight, dest, dep_delay FROM flights WHERE tailnum = 'N14228' AND month = 7;

EXPLAIN
SELECT month, day, carrier, flight, dest, dep_delay FROM flights WHERE tailnum = 'N14228' AND month = 7;

-- 14. A null key is a key: the flights whose plane nobody wrote down lie in one partition too.

SELECT carrier, count(*) AS flights
FROM flights
WHERE tailnum IS NULL
GROUP BY carrier
ORDER BY flights DESC, carrier;

EXPLAIN SELECT carrier, flight FROM flights WHERE tailnum IS NULL;

-- 15. Several keys.

SELECT tailnum, count(*) AS flights, sum(air_time) AS minutes_in_the_air
FROM flights
WHERE tailnum IN ('N14228', 'N24211', 'N725MQ')
GROUP BY tailnum
ORDER BY tailnum;
