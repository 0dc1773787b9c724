-- What a finding says already is left out, but only if there is one: an Event about what nothing else shows stays.
-- column ts: When it last occurred
-- column observed_at: When this version of it was observed
-- column occurrences: How many occurrences this version adds
CREATE OR REPLACE VIEW untold_warnings AS
SELECT
    e.cluster AS cluster, e.ts AS ts, e.observed_at AS observed_at, e.node AS node, e.namespace AS namespace,
    e.name AS name, e.reason AS reason, e.object_kind AS object_kind, e.object_name AS object_name,
    e.object_uid AS object_uid, e.message AS message, e.count AS count, e.occurrences AS occurrences,
    e.occurrences_lower_bound AS occurrences_lower_bound
FROM node_events AS e FINAL
WHERE (e.type = 'Warning' OR e.reason = 'NodeNotReady')
    AND NOT multiIf(
        e.reason = 'FailedScheduling', (e.cluster, e.object_uid) IN (SELECT cluster, uid FROM pod_bindings WHERE change = 'pending'),
        -- By name: Events about a static pod have the UID of its file
        e.reason IN ('Evicted', 'Killing'),
        (e.cluster, e.namespace, e.object_name) IN (SELECT cluster, namespace, pod FROM pod_ends UNION DISTINCT SELECT cluster, namespace, pod FROM evictions),
        e.reason = 'NodeNotReady', (e.cluster, e.object_name) IN (SELECT cluster, node FROM nodes),
        e.reason = 'EvictionThresholdMet', (e.cluster, e.node) IN (SELECT cluster, node FROM pressure_changes),
        e.reason IN ('FreeDiskSpaceFailed', 'ImageGCFailed', 'InvalidDiskCapacity'), (e.cluster, e.node) IN (SELECT cluster, node FROM image_gc),
        (e.cluster, e.object_uid, e.reason) IN (SELECT cluster, uid, reason FROM pod_ends WHERE cause = 'admission'))
COMMENT 'Warning Events without a finding. Kinds that can have a finding appear only without one'
