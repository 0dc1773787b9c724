-- Pending pods that a node would take by the API's objects, although the scheduler has just found none
SELECT uid, nodes[1] AS fits_on
FROM pods_not_retried
WHERE cluster = {cluster:String} AND verdict = 'contradicted' AND uid IN {uids:Array(String)}
