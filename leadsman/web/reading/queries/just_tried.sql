-- Pods for which the scheduler has just found no node
SELECT uid
FROM scheduler_tries
WHERE cluster = {cluster:String} AND is_recent AND uid IN {uids:Array(String)}
