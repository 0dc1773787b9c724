-- rules: scheduler-devices; agrees with streams/rules/scheduling/device_claims.py. Facts are as in
-- streams/rules/scheduling/devices.py: requirements of a selector are triples of key, operator and values.
-- column uid: UID of a pod that waits and has claims of devices
-- column node: The node that is judged
-- column reasons: Why the scheduler refuses the node for its claims of devices, in its words
-- column unknowns: What would have to be known beside
CREATE OR REPLACE VIEW pending_devices AS
WITH
    {meets} AS meets,
    'Array(Array(Tuple(String, String, Array(String))))' AS terms,
    machines AS
    (
        SELECT
            cluster,
            node,
            mapConcat(CAST(labels, 'Map(String, String)'), map(':name', toString(node))) AS labels,
            max(toUInt32OrZero(extract(toString(kubelet_version), '^v?[0-9]+\\.([0-9]+)'))) OVER (PARTITION BY cluster) AS scheduler_minor
        FROM
        (
            SELECT cluster, node, deleted, labels, kubelet_version
            FROM nodes FINAL
            ORDER BY ts DESC
            LIMIT 1 BY cluster, node
        )
        WHERE NOT deleted
    ),
    listed AS
    (
        SELECT cluster, groupUniqArray(resource) AS resources
        FROM scheduled_lists
        GROUP BY cluster
    ),
    claimed AS
    (
        SELECT cluster, namespace, uid, pod, each.1 AS name, each.2 AS claim, each.3 AS is_made
        FROM
        (
            SELECT cluster, namespace, uid, pod, change, constraints
            FROM pod_bindings FINAL
            ORDER BY ts DESC
            LIMIT 1 BY cluster, namespace, pod, uid
        )
        ARRAY JOIN JSONExtract(constraints, 'devices', 'Array(Tuple(String, String, Bool))') AS each
        WHERE change = 'pending'
    ),
    needs AS
    (
        SELECT
            p.cluster AS cluster,
            p.namespace AS namespace,
            p.uid AS uid,
            p.pod AS pod,
            p.name AS name,
            p.claim AS claim,
            l.resources AS resources,
            c.facts AS facts,
            multiIf(
                p.claim = '', 'not made',
                c.facts = '', if(has(l.resources, 'resourceclaims'), 'missing', 'unknown'),
                JSONExtractBool(c.facts, 'deleting'), 'deleting',
                p.is_made AND JSONExtractString(c.facts, 'owner') != p.uid, 'of another',
                JSONExtractBool(c.facts, 'allocated'), 'allocated',
                'wanted') AS state
        FROM claimed AS p
        LEFT JOIN (SELECT cluster, namespace, name, facts FROM scheduled_now WHERE resource = 'resourceclaims') AS c
            ON c.cluster = p.cluster AND c.namespace = p.namespace AND c.name = p.claim
        LEFT JOIN listed AS l ON l.cluster = p.cluster
    ),
    wanted AS
    (
        SELECT
            n.cluster AS cluster,
            n.uid AS uid,
            n.name AS name,
            n.resources AS resources,
            n.request AS request,
            n.class AS class,
            n.class != '' AND s.facts = '' AND has(n.resources, 'deviceclasses') AS lacks_class,
            arrayDistinct(arrayConcat(n.request_drivers, JSONExtract(s.facts, 'drivers', 'Array(String)'))) AS drivers,
            if(s.facts = '', 0, n.request_count) AS count,
            n.is_request_certain AND JSONExtractBool(s.facts, 'certain') AND length(drivers) = 1 AS is_certain
        FROM
        (
            SELECT
                cluster,
                uid,
                name,
                resources,
                arrayJoin(JSONExtract(facts, 'requests', 'Array(Tuple(String, String, Array(String), Int64, Bool))')) AS each,
                each.1 AS request,
                each.2 AS class,
                each.3 AS request_drivers,
                each.4 AS request_count,
                each.5 AS is_request_certain
            FROM needs
            WHERE state = 'wanted'
        ) AS n
        LEFT JOIN (SELECT cluster, name, facts FROM scheduled_now WHERE resource = 'deviceclasses') AS s
            ON s.cluster = n.cluster AND s.name = n.class
    ),
    slices AS
    (
        SELECT
            cluster,
            name,
            facts,
            JSONExtractString(facts, 'driver') AS driver,
            JSONExtractString(facts, 'pool') AS pool,
            JSONExtract(facts, 'devices', 'Array(String)') AS devices
        FROM scheduled_now
        WHERE resource = 'resourceslices'
    ),
    pools AS
    (
        SELECT
            cluster,
            driver,
            pool,
            min(JSONExtractBool(facts, 'plain')) = 1
                AND min(JSONExtractInt(facts, 'generation')) = max(JSONExtractInt(facts, 'generation'))
                AND min(JSONExtractInt(facts, 'slices')) = count()
                AND max(JSONExtractInt(facts, 'slices')) = count()
                AND length(groupUniqArrayArray(devices)) = sum(length(devices)) AS is_whole
        FROM slices
        GROUP BY cluster, driver, pool
    ),
    held AS
    (
        SELECT cluster, one.1 AS driver, one.2 AS pool, groupUniqArray(one.3) AS held_devices
        FROM
        (
            SELECT cluster, arrayJoin(JSONExtract(facts, 'held', 'Array(Tuple(String, String, String))')) AS one
            FROM scheduled_now
            WHERE resource = 'resourceclaims'
        )
        GROUP BY cluster, driver, pool
    ),
    offered AS
    (
        SELECT
            s.cluster AS cluster,
            s.driver AS driver,
            JSONExtractString(s.facts, 'node') AS node,
            JSONExtractBool(s.facts, 'everywhere') AS is_everywhere,
            JSONExtract(s.facts, 'nodes', terms) AS places,
            toInt64(arrayCount(device -> NOT has(h.held_devices, device), s.devices)) AS count,
            p.is_whole AS is_whole
        FROM slices AS s
        INNER JOIN pools AS p ON p.cluster = s.cluster AND p.driver = s.driver AND p.pool = s.pool
        LEFT JOIN held AS h ON h.cluster = s.cluster AND h.driver = s.driver AND h.pool = s.pool
    ),
    stock AS
    (
        SELECT cluster, node, groupArray((driver, free, plain)) AS devices
        FROM
        (
            SELECT cluster, node, driver, sum(count) AS free, sumIf(count, is_whole) AS plain
            FROM
            (
                SELECT cluster, toString(node) AS node, driver, count, is_whole
                FROM offered
                WHERE node != ''
                UNION ALL
                SELECT m.cluster, toString(m.node), o.driver, o.count, o.is_whole
                FROM machines AS m
                INNER JOIN offered AS o ON o.cluster = m.cluster
                WHERE o.node = '' AND (o.is_everywhere OR arrayExists(term -> meets(m.labels, term), o.places))
            )
            GROUP BY cluster, node, driver
        )
        GROUP BY cluster, node
    ),
    totals AS
    (
        SELECT
            cluster,
            uid,
            any(resources) AS resources,
            groupUniqArray(name) AS names,
            groupArray((drivers, count, is_certain)) AS requests
        FROM wanted
        WHERE NOT lacks_class
        GROUP BY cluster, uid
    ),
    allocated AS
    (
        SELECT
            t.cluster AS cluster,
            t.uid AS uid,
            m.node AS node,
            t.names AS names,
            has(t.resources, 'resourceslices') AS is_known,
            arrayMap(
                driver -> (
                    arraySum(r -> r.2, arrayFilter(r -> r.1 = [driver], t.requests)),
                    arraySum(d -> d.2, arrayFilter(d -> d.1 = driver, s.devices)),
                    arraySum(d -> d.3, arrayFilter(d -> d.1 = driver, s.devices))),
                arrayDistinct(arrayFlatten(arrayMap(r -> r.1, arrayFilter(r -> length(r.1) = 1, t.requests))))) AS sums,
            arrayExists(
                r -> r.2 > arraySum(d -> d.2, arrayFilter(d -> empty(r.1) OR r.1 = [d.1], s.devices)),
                t.requests) OR arrayExists(of -> of.2 = of.3 AND of.1 > of.2, sums) AS is_scarce,
            is_known AND has(t.resources, 'resourceclaims')
                AND arrayAll(r -> r.3, t.requests) AND arrayAll(of -> of.3 >= of.1, sums) AS is_enough
        FROM totals AS t
        INNER JOIN machines AS m ON m.cluster = t.cluster
        LEFT JOIN stock AS s ON s.cluster = m.cluster AND s.node = m.node
    )
SELECT
    cluster,
    uid,
    node,
    arraySort(
        reason -> (reason = 'resourceclaim not available on the node', reason = 'cannot allocate all claims', startsWith(reason, 'request ')),
        arrayDistinct(arrayFlatten(groupArray(reasons)))) AS reasons,
    arrayDistinct(arrayFlatten(groupArray(unknowns))) AS unknowns
FROM
(
    SELECT
        n.cluster AS cluster,
        n.uid AS uid,
        m.node AS node,
        n.state = 'allocated' AND JSONHas(n.facts, 'nodes')
            AND NOT arrayExists(term -> meets(m.labels, term), JSONExtract(n.facts, 'nodes', terms)) AS is_elsewhere,
        if(m.scheduler_minor < 36, 'pod', 'Pod') AS one,
        multiIf(
            n.state = 'not made', [concat('pod "', n.namespace, '/', n.pod, '": ResourceClaim not created yet')],
            n.state = 'missing', [concat('could not find ResourceClaim "', n.namespace, '/', n.claim, '"')],
            n.state = 'deleting', [concat('resourceclaim "', n.claim, '" is being deleted')],
            n.state = 'of another', [concat('ResourceClaim ', n.namespace, '/', n.claim, ' was not created for ', one, ' ', n.namespace, '/', n.pod, ' (', one, ' is not owner)')],
            is_elsewhere, ['resourceclaim not available on the node'],
            []) AS reasons,
        if(
            n.state = 'unknown' OR (n.state = 'allocated' AND NOT is_elsewhere AND JSONExtractBool(n.facts, 'doubtful')),
            [concat('which nodes have the devices of claim ', n.name)],
            []) AS unknowns
    FROM needs AS n
    INNER JOIN machines AS m ON m.cluster = n.cluster
    UNION ALL
    SELECT w.cluster, w.uid, m.node, 0, '', [concat('request ', w.request, ': device class ', w.class, ' does not exist')], []
    FROM wanted AS w
    INNER JOIN machines AS m ON m.cluster = w.cluster
    WHERE w.lacks_class
    UNION ALL
    SELECT
        cluster,
        uid,
        node,
        0,
        '',
        if(is_scarce AND is_known, ['cannot allocate all claims'], []),
        if(is_scarce ? is_known : is_enough, [], arrayMap(name -> concat('which nodes have the devices of claim ', name), names))
    FROM allocated
)
GROUP BY cluster, uid, node
COMMENT 'Whether the claims of devices of each pending pod let it go to each node: reasons are the scheduler''s, unknowns what would have to be known'
