-- How many nodes each zone has, and their versions: schedulers before 1.18.7 can lose nodes of uneven zones
-- form nodes zone
-- shows zone, nodes, uneven, kubelet_versions
-- needs nodes
-- param cluster
SELECT
    cluster,
    arrayFilter(each -> each != '', splitByString(':\0:', zone_key))[-1] AS zone,
    count() AS nodes,
    max(count()) OVER (PARTITION BY cluster) > min(count()) OVER (PARTITION BY cluster) AS uneven,
    arraySort(groupUniqArray(kubelet_version)) AS kubelet_versions
FROM (SELECT * FROM nodes ORDER BY ts DESC LIMIT 1 BY cluster, node)
WHERE NOT deleted AND {filters cluster}
GROUP BY cluster, zone_key
ORDER BY cluster, zone_key
