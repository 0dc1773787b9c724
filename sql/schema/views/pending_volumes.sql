-- rules: scheduler-volumes; agrees with streams/rules/scheduling/volumes.py. Facts are as in streams/rules/scheduling/storage.py:
-- requirements of a selector are triples of key, operator and values, of which a node has to meet all of one term.
-- column uid: UID of a pod that waits and has claims of volumes
-- column reasons: Why the scheduler refuses the node for its volumes, in its words
-- column unknowns: What would have to be known beside
CREATE OR REPLACE VIEW pending_volumes AS
WITH
    {meets} AS meets,
    'Array(Array(Tuple(String, String, Array(String))))' AS terms,
    ['failure-domain.beta.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/region', 'topology.kubernetes.io/zone', 'topology.kubernetes.io/region'] AS zone_labels,
    pods AS
    (
        SELECT cluster, namespace, uid, pod, change, node, constraints
        FROM pod_bindings FINAL
        ORDER BY ts DESC
        LIMIT 1 BY cluster, namespace, pod, uid
    ),
    claimed AS
    (
        SELECT
            cluster,
            namespace,
            uid,
            pod,
            change,
            node,
            each.1 AS volume,
            each.2 AS claim,
            each.3 AS ephemeral
        FROM pods
        ARRAY JOIN JSONExtract(constraints, 'claimed', 'Array(Tuple(String, String, Bool))') AS each
        WHERE change IN ('pending', 'bound', 'updated')
    ),
    listed AS
    (
        SELECT cluster, groupUniqArray(resource) AS resources
        FROM scheduled_lists
        GROUP BY cluster
    ),
    volumes AS
    (
        SELECT
            cluster,
            name,
            facts,
            JSONExtractString(facts, 'storage_class') AS storage_class,
            if(JSONHas(facts, 'handle'), JSONExtractString(facts, 'handle'), name) AS known_as
        FROM scheduled_now
        WHERE resource = 'persistentvolumes'
    ),
    looked AS
    (
        SELECT
            p.cluster AS cluster,
            p.namespace AS namespace,
            p.uid AS uid,
            p.pod AS pod,
            p.change AS change,
            p.node AS node,
            p.volume AS volume,
            p.claim AS claim,
            p.ephemeral AS ephemeral,
            l.resources AS resources,
            c.facts AS claim_facts,
            c.volume AS volume_name,
            c.storage_class AS storage_class,
            v.facts AS volume_facts,
            v.known_as AS known_as,
            s.facts AS class_facts,
            JSONExtractString(s.facts, 'provisioner') AS provisioner,
            startsWith(provisioner, 'kubernetes.io/') AND provisioner != 'kubernetes.io/no-provisioner' AS made_in_tree
        FROM claimed AS p
        LEFT JOIN
        (
            SELECT
                cluster,
                namespace,
                name,
                facts,
                JSONExtractString(facts, 'volume') AS volume,
                JSONExtractString(facts, 'storage_class') AS storage_class
            FROM scheduled_now
            WHERE resource = 'persistentvolumeclaims'
        ) AS c ON c.cluster = p.cluster AND c.namespace = p.namespace AND c.name = p.claim
        LEFT JOIN volumes AS v ON v.cluster = p.cluster AND v.name = c.volume
        LEFT JOIN (SELECT cluster, name, facts FROM scheduled_now WHERE resource = 'storageclasses') AS s
            ON s.cluster = p.cluster AND s.name = c.storage_class
        LEFT JOIN listed AS l ON l.cluster = p.cluster
    ),
    needs AS
    (
        SELECT
            *,
            multiIf(
                claim_facts = '', if(has(resources, 'persistentvolumeclaims'), 'refused', 'unknown'),
                JSONExtractString(claim_facts, 'phase') = 'Lost'
                    OR JSONExtractBool(claim_facts, 'deleting')
                    OR (ephemeral AND JSONExtractString(claim_facts, 'owner') != uid), 'refused',
                JSONExtractBool(claim_facts, 'bound'), multiIf(
                    volume_facts = '', if(has(resources, 'persistentvolumes'), 'refused', 'unknown'),
                    JSONExtractBool(volume_facts, 'in_tree'), 'unknown',
                    'bound'),
                volume_name = '' AND storage_class != '' AND class_facts = '' AND NOT has(resources, 'storageclasses'), 'unknown',
                volume_name != '' OR class_facts = '' OR JSONExtractString(class_facts, 'binding') != 'WaitForFirstConsumer', 'refused',
                made_in_tree, 'unknown',
                'delayed') AS kind,
            multiIf(
                kind != 'refused', '',
                claim_facts = '' AND ephemeral, concat('waiting for ephemeral volume controller to create the persistentvolumeclaim "', claim, '"'),
                claim_facts = '', concat('persistentvolumeclaim "', claim, '" not found'),
                JSONExtractString(claim_facts, 'phase') = 'Lost', concat('persistentvolumeclaim "', claim, '" bound to non-existent persistentvolume "', volume_name, '"'),
                JSONExtractBool(claim_facts, 'deleting'), concat('persistentvolumeclaim "', claim, '" is being deleted'),
                ephemeral AND JSONExtractString(claim_facts, 'owner') != uid, concat('PVC ', namespace, '/', claim, ' was not created for pod ', namespace, '/', pod, ' (pod is not owner)'),
                JSONExtractBool(claim_facts, 'bound') AND NOT ephemeral, concat('persistentvolume "', volume_name, '" not found'),
                JSONExtractBool(claim_facts, 'bound'), 'node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)',
                'pod has unbound immediate PersistentVolumeClaims') AS reason,
            multiIf(kind = 'bound', JSONExtractString(volume_facts, 'driver'), kind = 'delayed' AND provisioner != 'kubernetes.io/no-provisioner', provisioner, '') AS driver,
            if(kind = 'bound', known_as, concat(':', namespace, '/', claim)) AS identity,
            NOT ephemeral AND has(JSONExtract(claim_facts, 'access', 'Array(String)'), 'ReadWriteOncePod') AS is_alone
        FROM looked
        WHERE change = 'pending'
    ),
    choices AS
    (
        SELECT
            n.cluster AS cluster,
            n.uid AS uid,
            n.volume AS volume,
            groupArray((v.is_reserved, JSONHas(v.facts, 'nodes'), JSONExtract(v.facts, 'nodes', terms))) AS able,
            arrayExists(each -> each.1, able) AS reserved,
            arrayFilter(each -> each.1 OR NOT reserved, able) AS candidates
        FROM (SELECT * FROM needs WHERE kind = 'delayed') AS n
        INNER JOIN
        (
            SELECT *, JSONHas(facts, 'claim') AS is_reserved, JSONExtract(facts, 'claim', 'Array(String)') AS of
            FROM volumes
            WHERE NOT JSONExtractBool(facts, 'deleting')
        ) AS v ON v.cluster = n.cluster AND v.storage_class = n.storage_class
        WHERE JSONExtractInt(v.facts, 'bytes') >= JSONExtractInt(n.claim_facts, 'bytes')
            AND JSONExtractString(v.facts, 'mode') = JSONExtractString(n.claim_facts, 'mode')
            AND JSONExtractString(v.facts, 'attributes') = JSONExtractString(n.claim_facts, 'attributes')
            AND if(
                v.is_reserved,
                v.of[1] = n.namespace AND v.of[2] = n.claim AND v.of[3] IN ('', JSONExtractString(n.claim_facts, 'uid')),
                JSONExtractString(v.facts, 'phase') = 'Available'
                    AND hasAll(JSONExtract(v.facts, 'access', 'Array(String)'), JSONExtract(n.claim_facts, 'access', 'Array(String)'))
                    AND meets(
                        JSONExtract(v.facts, 'labels', 'Map(String, String)'),
                        JSONExtract(n.claim_facts, 'labels', 'Array(Tuple(String, String, Array(String)))')))
        GROUP BY n.cluster, n.uid, n.volume
    ),
    machines AS
    (
        SELECT
            cluster,
            node,
            CAST(labels, 'Map(String, String)') AS labels,
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
    chosen AS
    (
        SELECT
            n.cluster AS cluster,
            n.uid AS uid,
            n.volume AS volume,
            n.kind AS kind,
            n.reason AS reason,
            m.node AS node,
            m.scheduler_minor AS scheduler_minor,
            n.is_alone AND (n.cluster, n.namespace, n.claim) IN (SELECT cluster, namespace, claim FROM claimed WHERE change != 'pending' AND NOT ephemeral) AS in_use,
            kind = 'unknown' OR (n.is_alone AND NOT in_use AND (n.cluster, n.namespace) IN (
                SELECT cluster, namespace FROM pods WHERE change IN ('bound', 'updated') AND JSONHas(constraints, 'volumes'))) AS is_unknown,
            JSONHas(n.claim_facts, 'selected_node') AS is_selected,
            JSONExtractString(n.claim_facts, 'selected_node') = m.node AS is_here,
            is_selected ? 0 : arrayCount(each -> NOT each.2 OR arrayExists(term -> meets(m.labels, term), each.3), c.candidates) AS found,
            NOT is_selected AND found >= (c.reserved ? length(c.candidates) : n.crowd) AS is_found,
            n.provisioner != 'kubernetes.io/no-provisioner' AND (NOT JSONHas(n.class_facts, 'topologies') OR arrayExists(term -> meets(m.labels, term), JSONExtract(n.class_facts, 'topologies', terms))) AS is_makeable,
            if(d.facts = '', has(n.resources, 'csidrivers'), NOT JSONExtractBool(d.facts, 'tracks_capacity')) AS has_room,
            n.provisioner AS provisioner,
            has(n.resources, 'persistentvolumes') AS all_candidates,
            kind = 'bound' AND JSONHas(n.volume_facts, 'nodes')
                AND NOT arrayExists(term -> meets(m.labels, term), JSONExtract(n.volume_facts, 'nodes', terms)) AS is_elsewhere,
            kind = 'bound' AND NOT n.ephemeral AND arrayExists(key -> mapContains(m.labels, key), zone_labels) AND arrayExists(
                zone -> NOT has(
                    zone.3,
                    m.labels[if(mapContains(m.labels, zone.1), zone.1, replaceOne(zone.1, 'failure-domain.beta.kubernetes.io/', 'topology.kubernetes.io/'))]),
                JSONExtract(n.volume_facts, 'zones', 'Array(Tuple(String, String, Array(String)))')) AS is_out_of_zone
        FROM
        (
            SELECT *, countIf(kind = 'delayed') OVER (PARTITION BY cluster, uid, storage_class) AS crowd
            FROM needs
        ) AS n
        INNER JOIN machines AS m ON m.cluster = n.cluster
        LEFT JOIN choices AS c ON c.cluster = n.cluster AND c.uid = n.uid AND c.volume = n.volume
        LEFT JOIN (SELECT cluster, name, facts FROM scheduled_now WHERE resource = 'csidrivers') AS d
            ON d.cluster = n.cluster AND d.name = n.provisioner
    ),
    placed AS
    (
        SELECT
            cluster,
            uid,
            node,
            arrayConcat(
                if(reason != '', [reason], []),
                if(in_use, ['node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod'], []),
                if(
                    kind = 'delayed' AND NOT is_found
                        AND ((is_selected AND NOT is_here) OR (NOT is_makeable AND found = 0 AND (all_candidates OR is_selected))),
                    ['node(s) didn\'t find available persistent volumes to bind'],
                    []),
                if(
                    is_elsewhere,
                    [scheduler_minor < 33 ? 'node(s) had volume node affinity conflict' : 'node(s) didn\'t match PersistentVolume\'s node affinity'],
                    []),
                if(is_out_of_zone, ['node(s) had no available volume zone'], [])) AS reasons,
            multiIf(
                is_unknown, [concat('where volume ', volume, ' can be attached')],
                kind != 'delayed' OR is_found OR (is_selected AND NOT is_here), [],
                is_makeable, if(has_room, [], [concat('whether ', provisioner, ' has room for volume ', volume)]),
                found > 0 OR NOT (all_candidates OR is_selected), [concat('where volume ', volume, ' can be attached')],
                []) AS unknowns
        FROM chosen
    ),
    used AS
    (
        SELECT
            cluster,
            node,
            groupUniqArray((driver, identity)) AS taken,
            min(is_known) AS is_complete
        FROM
        (
            SELECT
                cluster,
                node,
                multiIf(
                    claim_facts = '', has(resources, 'persistentvolumeclaims'),
                    volume_facts != '', NOT JSONExtractBool(volume_facts, 'in_tree'),
                    volume_name != '' AND NOT has(resources, 'persistentvolumes'), 0,
                    class_facts = '', storage_class = '' OR has(resources, 'storageclasses'),
                    NOT made_in_tree) AS is_known,
                multiIf(
                    NOT is_known OR claim_facts = '', '',
                    volume_facts != '', JSONExtractString(volume_facts, 'driver'),
                    provisioner = 'kubernetes.io/no-provisioner', '',
                    provisioner) AS driver,
                multiIf(driver = '', '', volume_facts != '', known_as, concat(':', namespace, '/', claim)) AS identity
            FROM looked
            WHERE change != 'pending'
            UNION ALL
            SELECT cluster, node, 0, '', ''
            FROM pods
            WHERE change IN ('bound', 'updated') AND JSONHas(constraints, 'volumes')
        )
        GROUP BY cluster, node
    ),
    attached AS
    (
        SELECT a.cluster AS cluster, a.node AS node, groupUniqArray((a.driver, if(v.facts = '', a.volume, v.known_as))) AS beside
        FROM
        (
            SELECT
                cluster,
                JSONExtractString(facts, 'node') AS node,
                JSONExtractString(facts, 'driver') AS driver,
                JSONExtractString(facts, 'volume') AS volume
            FROM scheduled_now
            WHERE resource = 'volumeattachments'
        ) AS a
        LEFT JOIN volumes AS v ON v.cluster = a.cluster AND v.name = a.volume
        LEFT JOIN listed AS l ON l.cluster = a.cluster
        WHERE if(v.facts = '', NOT has(l.resources, 'persistentvolumes'), JSONHas(v.facts, 'driver'))
        GROUP BY a.cluster, a.node
    ),
    limited AS
    (
        SELECT
            n.cluster AS cluster,
            n.uid AS uid,
            m.node AS node,
            n.driver AS driver,
            JSONExtract(k.facts, 'limits', 'Map(String, Int64)') AS limits,
            arrayFilter(pair -> pair.1 = n.driver, u.taken) AS there,
            arrayFilter(pair -> pair.1 = n.driver AND m.scheduler_minor >= 32 AND NOT has(u.taken, pair), a.beside) AS beside,
            arrayFilter(one -> NOT has(there, (n.driver, one)), n.identities) AS more,
            toInt64(length(there) + length(beside) + length(more)) AS count,
            (u.node = '' OR u.is_complete) AND has(n.resources, 'volumeattachments') AS is_complete,
            k.facts != '' OR has(n.resources, 'csinodes') AS is_known
        FROM
        (
            SELECT cluster, uid, driver, any(resources) AS resources, groupUniqArray(identity) AS identities
            FROM needs
            WHERE driver != ''
            GROUP BY cluster, uid, driver
        ) AS n
        INNER JOIN machines AS m ON m.cluster = n.cluster
        LEFT JOIN (SELECT cluster, name, facts FROM scheduled_now WHERE resource = 'csinodes') AS k
            ON k.cluster = m.cluster AND k.name = m.node
        LEFT JOIN used AS u ON u.cluster = m.cluster AND u.node = m.node
        LEFT JOIN attached AS a ON a.cluster = m.cluster AND a.node = m.node
    )
SELECT
    cluster,
    uid,
    node,
    arraySort(
        reason -> (
            startsWith(reason, 'node(s)'),
            NOT endsWith(reason, 'already in-use by another pod'),
            reason != 'node(s) exceed max volume count'),
        arrayDistinct(arrayFlatten(groupArray(reasons)))) AS reasons,
    arrayDistinct(arrayFlatten(groupArray(unknowns))) AS unknowns
FROM
(
    SELECT cluster, uid, node, reasons, unknowns
    FROM placed
    UNION ALL
    SELECT
        cluster,
        uid,
        node,
        if(mapContains(limits, driver) AND count > limits[driver], ['node(s) exceed max volume count'], []),
        if(
            NOT is_known OR (mapContains(limits, driver) AND count <= limits[driver] AND NOT is_complete),
            [concat('how many volumes of ', driver, ' the node has attached')],
            [])
    FROM limited
    WHERE NOT is_known OR notEmpty(more)
)
GROUP BY cluster, uid, node
COMMENT 'Whether the volumes of each pending pod let it go to each node: reasons are the scheduler''s, unknowns what would have to be known'
