-- rules: scheduler-fit; agrees with streams/rules/scheduling/neighbours.py. Requirements of a selector are triples of
-- key, operator and values; a term is its topology key, the selector, the namespaces, 1 where more are meant, and what the
-- labels of these meet; a spread constraint is its topology key, maxSkew, the selector, minDomains, and whether it honours
-- the pod's node affinity and the nodes' taints.
-- column uid: UID of a pod that waits
-- column node: The node that is judged
-- column reasons: Why the scheduler refuses the node for the sake of other pods, in its words
-- column unknowns: What would have to be known beside
CREATE OR REPLACE VIEW pending_neighbours AS
WITH
    {meets} AS meets,
    (term, namespace, is_known, namespace_labels) -> hasAny(term.3, ['*', namespace])
        OR (is_known AND notEmpty(term.5) AND meets(namespace_labels, term.5)) AS means,
    'Array(Tuple(String, Array(Tuple(String, String, Array(String))), Array(String), Bool, Array(Tuple(String, String, Array(String)))))' AS terms,
    (
        SELECT mapFromArrays(groupArray(concat(cluster, '/', name)), groupArray(JSONExtract(facts, 'labels', 'Map(String, String)')))
        FROM scheduled_now
        WHERE resource = 'namespaces'
    ) AS spaces,
    pods AS
    (
        SELECT
            cluster,
            namespace,
            uid,
            change,
            node,
            CAST(labels, 'Map(String, String)') AS labels,
            constraints,
            tolerations,
            terminating,
            concat(cluster, '/', namespace) AS space,
            mapContains(spaces, space) AS is_known,
            spaces[space] AS namespace_labels
        FROM pod_bindings FINAL
        ORDER BY ts DESC
        LIMIT 1 BY cluster, namespace, pod, uid
    ),
    waiting AS
    (
        SELECT
            cluster,
            namespace,
            uid,
            labels,
            tolerations,
            namespace_labels,
            is_known,
            JSONHas(constraints, 'nodes') AS is_choosy,
            JSONExtract(constraints, 'nodes', 'Array(Array(Tuple(String, String, Array(String))))') AS nodes,
            JSONExtract(constraints, 'affinity', terms) AS affinity,
            JSONExtract(constraints, 'anti_affinity', terms) AS anti_affinity,
            JSONExtract(
                constraints,
                'spread',
                'Array(Tuple(String, Int64, Array(Tuple(String, String, Array(String))), Int64, Bool, Bool))') AS spread
        FROM pods
        WHERE change = 'pending'
    ),
    machines AS
    (
        SELECT cluster, node, CAST(labels, 'Map(String, String)') AS labels, taints
        FROM
        (
            SELECT cluster, node, deleted, labels, taints
            FROM nodes FINAL
            ORDER BY ts DESC
            LIMIT 1 BY cluster, node
        )
        WHERE NOT deleted
    ),
    bound AS
    (
        SELECT
            p.cluster AS cluster,
            p.namespace AS namespace,
            p.labels AS labels,
            p.terminating AS terminating,
            p.namespace_labels AS namespace_labels,
            p.is_known AS is_known,
            JSONExtract(p.constraints, 'anti_affinity', terms) AS anti_affinity,
            m.node AS node,
            m.labels AS node_labels
        FROM pods AS p
        INNER JOIN machines AS m ON m.cluster = p.cluster AND m.node = p.node
        WHERE p.change IN ('bound', 'updated')
    ),
    (SELECT groupUniqArray(cluster) FROM bound WHERE NOT is_known) AS hidden,
    unsure AS
    (
        SELECT cluster, uid, kind, term.1 AS key
        FROM waiting
        ARRAY JOIN
            arrayConcat(affinity, anti_affinity) AS term,
            arrayConcat(
                arrayWithConstant(length(affinity), 'affinity'),
                arrayWithConstant(length(anti_affinity), 'anti-affinity')) AS kind
        WHERE term.4 AND (empty(term.5) OR NOT is_known OR has(hidden, cluster))
    ),
    places AS
    (
        SELECT cluster, node, key, value
        FROM machines
        ARRAY JOIN mapKeys(labels) AS key, mapValues(labels) AS value
    ),
    pairs AS
    (
        SELECT
            w.cluster AS cluster,
            w.namespace AS namespace,
            w.uid AS uid,
            w.labels AS labels,
            w.namespace_labels AS namespace_labels,
            w.is_known AS is_known,
            w.affinity AS affinity,
            w.spread AS spread,
            m.node AS node,
            m.labels AS node_labels,
            NOT w.is_choosy
                OR arrayExists(term -> meets(mapConcat(m.labels, map(':name', m.node)), term), w.nodes) AS is_among,
            arrayExists(
                taint -> NOT endsWith(taint, ':PreferNoSchedule') AND NOT arrayExists(
                    toleration -> (splitByChar(':', toleration)[2] IN ('', splitByChar(':', taint)[2]))
                        AND (position(toleration, '=') > 0
                            ? splitByChar(':', toleration)[1] = splitByChar(':', taint)[1]
                            : splitByChar(':', toleration)[1] IN ('', splitByChar('=', taint)[1])),
                    w.tolerations),
                m.taints) AS repels
        FROM waiting AS w
        INNER JOIN machines AS m ON m.cluster = w.cluster
        WHERE notEmpty(w.affinity) OR notEmpty(w.spread)
    ),
    near AS
    (
        SELECT DISTINCT cluster, uid, term.1 AS key, node_labels[term.1] AS value, 1 AS found
        FROM
        (
            SELECT w.cluster AS cluster, w.uid AS uid, w.affinity AS affinity, b.node_labels AS node_labels
            FROM waiting AS w
            INNER JOIN bound AS b ON b.cluster = w.cluster
            WHERE notEmpty(w.affinity) AND arrayAll(
                term -> means(term, b.namespace, b.is_known, b.namespace_labels) AND meets(b.labels, term.2), w.affinity)
        )
        ARRAY JOIN affinity AS term
        WHERE mapContains(node_labels, term.1)
    ),
    lonely AS
    (
        SELECT p.cluster AS cluster, p.uid AS uid, p.node AS node, 2 AS rank, 'node(s) didn\'t match pod affinity rules' AS reason
        FROM
        (
            SELECT
                cluster,
                uid,
                node,
                term.1 AS key,
                node_labels[term.1] AS value,
                mapContains(node_labels, term.1) AS has_label,
                arrayAll(each -> means(each, namespace, is_known, namespace_labels) AND meets(labels, each.2), affinity) AS is_first
            FROM pairs
            ARRAY JOIN affinity AS term
        ) AS p
        LEFT JOIN near AS n ON n.cluster = p.cluster AND n.uid = p.uid AND n.key = p.key AND n.value = p.value
        GROUP BY p.cluster, p.uid, p.node
        HAVING NOT min(p.has_label)
            OR (
                NOT min(n.found)
                AND (p.cluster, p.uid) NOT IN (SELECT cluster, uid FROM unsure WHERE kind = 'affinity')
                AND NOT (min(p.is_first) AND (p.cluster, p.uid) NOT IN (SELECT cluster, uid FROM near)))
    ),
    away AS
    (
        SELECT DISTINCT w.cluster AS cluster, w.uid AS uid, term.1 AS key, b.node_labels[term.1] AS value
        FROM (SELECT cluster, uid, term FROM waiting ARRAY JOIN anti_affinity AS term) AS w
        INNER JOIN bound AS b ON b.cluster = w.cluster
        WHERE means(term, b.namespace, b.is_known, b.namespace_labels)
            AND meets(b.labels, term.2)
            AND mapContains(b.node_labels, term.1)
    ),
    unwelcome AS
    (
        SELECT DISTINCT
            w.cluster AS cluster,
            w.uid AS uid,
            term.1 AS key,
            node_labels[term.1] AS value,
            means(term, w.namespace, w.is_known, w.namespace_labels) AS is_meant
        FROM waiting AS w
        INNER JOIN (SELECT cluster, node_labels, term FROM bound ARRAY JOIN anti_affinity AS term) AS b ON b.cluster = w.cluster
        WHERE (is_meant OR (term.4 AND (empty(term.5) OR NOT w.is_known)))
            AND meets(w.labels, term.2)
            AND mapContains(node_labels, term.1)
    ),
    countable AS
    (
        SELECT cluster, uid, node, number, node_labels[each.1] AS value
        FROM pairs
        ARRAY JOIN spread AS each, arrayEnumerate(spread) AS number
        WHERE arrayAll(one -> mapContains(node_labels, one.1), spread)
            AND (NOT each.5 OR is_among)
            AND (NOT each.6 OR NOT repels)
    ),
    alike AS
    (
        SELECT w.cluster AS cluster, w.uid AS uid, w.number AS number, b.node AS node, count() AS pods
        FROM
        (
            SELECT cluster, namespace, uid, number, each.3 AS wanted
            FROM waiting
            ARRAY JOIN spread AS each, arrayEnumerate(spread) AS number
        ) AS w
        INNER JOIN bound AS b ON b.cluster = w.cluster AND b.namespace = w.namespace
        WHERE NOT b.terminating AND notEmpty(w.wanted) AND meets(b.labels, w.wanted)
        GROUP BY w.cluster, w.uid, w.number, b.node
    ),
    domains AS
    (
        SELECT c.cluster AS cluster, c.uid AS uid, c.number AS number, c.value AS value, sum(a.pods) AS pods
        FROM countable AS c
        LEFT JOIN alike AS a ON a.cluster = c.cluster AND a.uid = c.uid AND a.number = c.number AND a.node = c.node
        GROUP BY c.cluster, c.uid, c.number, c.value
    ),
    fewest AS
    (
        SELECT cluster, uid, number, min(pods) AS pods, count() AS domains
        FROM domains
        GROUP BY cluster, uid, number
    ),
    uneven AS
    (
        SELECT p.cluster AS cluster, p.uid AS uid, p.node AS node, 1 AS rank, argMin(p.reason, p.number) AS reason
        FROM
        (
            SELECT
                s.cluster AS cluster,
                s.uid AS uid,
                s.node AS node,
                s.number AS number,
                multiIf(
                    NOT s.has_label, 'node(s) didn\'t match pod topology spread constraints (missing required label)',
                    toInt64(d.pods) + s.itself - if(f.domains < greatest(1, s.min_domains), 0, toInt64(f.pods)) > s.max_skew,
                    'node(s) didn\'t match pod topology spread constraints',
                    '') AS reason
            FROM
            (
                SELECT
                    cluster,
                    uid,
                    node,
                    number,
                    node_labels[each.1] AS value,
                    mapContains(node_labels, each.1) AS has_label,
                    each.2 AS max_skew,
                    each.4 AS min_domains,
                    meets(labels, each.3) AS itself
                FROM pairs
                ARRAY JOIN spread AS each, arrayEnumerate(spread) AS number
            ) AS s
            LEFT JOIN domains AS d ON d.cluster = s.cluster AND d.uid = s.uid AND d.number = s.number AND d.value = s.value
            LEFT JOIN fewest AS f ON f.cluster = s.cluster AND f.uid = s.uid AND f.number = s.number
        ) AS p
        WHERE p.reason != ''
        GROUP BY p.cluster, p.uid, p.node
    ),
    found AS
    (
        SELECT cluster, uid, node, rank, reason FROM uneven
        UNION ALL
        SELECT cluster, uid, node, rank, reason FROM lonely
        UNION ALL
        SELECT a.cluster, a.uid, p.node, 3, 'node(s) didn\'t match pod anti-affinity rules'
        FROM away AS a
        INNER JOIN places AS p ON p.cluster = a.cluster AND p.key = a.key AND p.value = a.value
        UNION ALL
        SELECT u.cluster, u.uid, p.node, if(u.is_meant, 4, 6), 'node(s) didn\'t satisfy existing pods anti-affinity rules'
        FROM unwelcome AS u
        INNER JOIN places AS p ON p.cluster = u.cluster AND p.key = u.key AND p.value = u.value
        UNION ALL
        SELECT u.cluster, u.uid, m.node, 5, concat('which namespaces the ', u.kind, ' by ', u.key, ' selects')
        FROM unsure AS u
        INNER JOIN machines AS m ON m.cluster = u.cluster
    )
SELECT
    cluster,
    uid,
    node,
    arrayConcat(
        groupUniqArrayIf(reason, rank = 1),
        if(countIf(rank IN (2, 3, 4)) > 0, [argMinIf(reason, rank, rank IN (2, 3, 4))], [])) AS reasons,
    arrayConcat(
        arraySort(groupUniqArrayIf(reason, rank = 5)),
        if(countIf(rank = 6) > 0, ['which namespaces the anti-affinity of pods that are there selects'], [])) AS unknowns
FROM found
GROUP BY cluster, uid, node
COMMENT 'For each pending pod the nodes that affinity, anti-affinity or topology spread keep it from, or may'
