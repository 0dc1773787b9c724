-- Whether the database answers
SELECT 1 AS one
