-- Tables and views that people ask, with what each holds
SELECT name, comment
FROM system.tables
WHERE database = currentDatabase() AND comment != '' AND name NOT IN ('landed_offsets', 'replay_checkpoints', 'schema_migrations', 'schema_views')
ORDER BY name
