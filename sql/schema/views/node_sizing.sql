-- What each node should reserve, and where its hard threshold should be, from the measurements of the last day
-- (rules: node-sizing).
-- column ts: The last sample
-- column resource: memory, cpu or ephemeral-storage
-- column capacity: Capacity of the node, before reservations, in base units, cpu in millicores; null if it is unknown
-- column reserved: Reserved now, without the hard threshold; null if the Node object or a threshold is unknown
-- column outside_pods: Peak use outside pods that day: kubelet, runtime and system; null with less than an hour of samples
-- column advised_reserved: What to reserve: outside_pods and a quarter more, rounded up to 64 MiB or 50 millicores; null if outside_pods is
-- column hard_threshold: Hard threshold in force; null if there is none or it is unknown
-- column fastest_fall: Largest fall of the available amount within 10 s, in bytes; null with less than an hour of samples
-- column advised_threshold: Twice fastest_fall, at least 100 MiB, rounded up to 16 MiB; null if fastest_fall is
-- column measured_seconds: From the first sample of that day to the last
-- column verdict: too_little, enough, generous or unknown: of reserved against what is used outside of pods
-- column arithmetic: Calculation behind the advice
CREATE OR REPLACE VIEW node_sizing AS
WITH
    -- Each cluster's own, for one may have been recorded or cut off long before another
    (SELECT groupArray((cluster, since)) FROM (SELECT cluster, max(last_at) - toIntervalDay(1) AS since FROM last_samples GROUP BY cluster)) AS days,
    last_day AS (SELECT toLowCardinality(each.1) AS cluster, each.2 AS since FROM (SELECT arrayJoin(days) AS each)),
    -- Which five minutes that are: of a day a cluster, however long ago another one ended
    day_of AS (
        SELECT cluster, arrayJoin(arrayMap(i -> toDateTime64(toStartOfFiveMinutes(since), 6, 'UTC') + toIntervalMinute(5 * i), range(289))) AS ts
        FROM last_day
    ),
    measured AS (
        SELECT
            cluster, node, max(ts) AS last_at, dateDiff('second', min(ts), max(ts)) AS seconds,
            max(memory_working_set_bytes - pods_memory_working_set_bytes) AS memory_outside,
            maxIf((memory_before - memory_available_bytes) * 10 / elapsed, elapsed BETWEEN 1 AND 60) AS memory_fall,
            maxIf((nodefs_before - nodefs_available_bytes) * 10 / elapsed, elapsed BETWEEN 1 AND 60) AS nodefs_fall
        FROM (
            SELECT
                cluster, node, ts, memory_working_set_bytes, pods_memory_working_set_bytes, memory_available_bytes, nodefs_available_bytes,
                lagInFrame(memory_available_bytes) OVER w AS memory_before,
                lagInFrame(nodefs_available_bytes) OVER w AS nodefs_before,
                dateDiff('millisecond', lagInFrame(ts) OVER w, ts) / 1000 AS elapsed
            FROM (
                SELECT cluster, node, ts, memory_working_set_bytes, pods_memory_working_set_bytes, memory_available_bytes, nodefs_available_bytes
                FROM node_samples FINAL
                PREWHERE (cluster, toDateTime64(toStartOfFiveMinutes(ts), 6, 'UTC')) IN (SELECT cluster, ts FROM day_of)
            ) AS s
            INNER JOIN last_day AS d ON d.cluster = s.cluster
            WHERE s.ts >= d.since
            WINDOW w AS (PARTITION BY cluster, node ORDER BY ts ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)
        )
        GROUP BY cluster, node
    ),
    cpu AS (
        SELECT cluster, node, max(outside) AS cpu_outside
        FROM (
            SELECT n.cluster AS cluster, n.node AS node, (n.cpu_nanoseconds - p.cpu_nanoseconds) / n.seconds / 1000000 AS outside
            FROM (
                SELECT
                    cluster, ts, node, cpu_usage_core_nanoseconds_max - cpu_usage_core_nanoseconds_min AS cpu_nanoseconds,
                    dateDiff('second', first_at, last_at) AS seconds
                FROM node_samples_5m FINAL
                PREWHERE (cluster, ts) IN (SELECT cluster, ts FROM day_of)
            ) AS n
            INNER JOIN (
                SELECT cluster, ts, node, sum(cpu_usage_core_nanoseconds_max - cpu_usage_core_nanoseconds_min) AS cpu_nanoseconds
                FROM pod_samples_5m FINAL
                PREWHERE (cluster, ts) IN (SELECT cluster, ts FROM day_of)
                GROUP BY cluster, ts, node
            ) AS p ON p.cluster = n.cluster AND p.node = n.node AND p.ts = n.ts
            INNER JOIN last_day AS d ON d.cluster = n.cluster
            WHERE n.seconds >= 60 AND n.ts >= d.since
        )
        GROUP BY cluster, node
    ),
    resources AS (
        SELECT
            m.cluster AS cluster, m.node AS node, m.last_at AS ts, m.seconds AS measured_seconds, each.1 AS resource, each.2 AS signal,
            each.3 AS outside, each.4 AS fall, each.5 AS step
        FROM measured AS m
        LEFT JOIN cpu AS c ON c.cluster = m.cluster AND c.node = m.node
        ARRAY JOIN
        [
            ('memory', 'memory.available', toFloat64(m.memory_outside), toFloat64(m.memory_fall), 67108864),
            ('cpu', '', if(c.node = '', NULL, toFloat64(c.cpu_outside)), CAST(NULL, 'Nullable(Float64)'), 50),
            ('ephemeral-storage', 'nodefs.available', CAST(NULL, 'Nullable(Float64)'), toFloat64(m.nodefs_fall), 1)
        ] AS each
    ),
    known AS (
        SELECT
            r.cluster AS cluster, r.ts AS ts, r.node AS node, r.resource AS resource, r.step AS step,
            r.measured_seconds AS measured_seconds, nullIf(n.capacity[r.resource], 0) AS capacity,
            n.allocatable[r.resource] AS allocatable,
            arraySum(arrayFilter((value, name) -> startsWith(name, 'hugepages-'), mapValues(n.capacity), mapKeys(n.capacity))) AS hugepages,
            h.hard_threshold AS hard_threshold,
            if(r.measured_seconds < 3600 OR r.outside IS NULL, NULL, greatest(0, r.outside)) AS outside_pods,
            if(r.measured_seconds < 3600 OR r.fall IS NULL, NULL, greatest(0, r.fall)) AS fastest_fall
        FROM resources AS r
        LEFT JOIN (
            SELECT cluster, node, argMax(capacity, ts) AS capacity, argMax(allocatable, ts) AS allocatable FROM nodes GROUP BY cluster, node
        ) AS n ON n.cluster = r.cluster AND n.node = r.node
        LEFT JOIN (
            -- The last of all states is that of the last five minutes, merged or not
            SELECT cluster, node, signal, nullIf(argMaxMerge(hard_threshold_last), -1) AS hard_threshold
            FROM (SELECT cluster, node, signal, hard_threshold_last FROM eviction_signals_5m SETTINGS final = 0)
            WHERE signal IN ('memory.available', 'nodefs.available')
            GROUP BY cluster, node, signal
        ) AS h ON h.cluster = r.cluster AND h.node = r.node AND h.signal = r.signal
    )
SELECT
    cluster, ts, node, resource, capacity,
    if(capacity IS NULL OR (resource != 'cpu' AND hard_threshold IS NULL), NULL,
        greatest(0, capacity - allocatable - ifNull(hard_threshold, 0) - if(resource = 'memory', hugepages, 0))) AS reserved,
    toInt64(outside_pods) AS outside_pods,
    toInt64(ceil(outside_pods * 1.25 / step) * step) AS advised_reserved,
    hard_threshold, toInt64(fastest_fall) AS fastest_fall,
    if(fastest_fall IS NULL, NULL, toInt64(greatest(104857600, ceil(fastest_fall * 2 / 16777216) * 16777216))) AS advised_threshold,
    measured_seconds,
    multiIf(
        outside_pods IS NULL OR reserved IS NULL, 'unknown',
        reserved < outside_pods, 'too_little',
        reserved > advised_reserved * 2, 'generous', 'enough') AS verdict,
    {sizing} AS arithmetic
FROM known
COMMENT 'Advice for each node''s system reservation and hard thresholds, with the arithmetic behind it'
