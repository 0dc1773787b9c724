-- column component: As its Events name it
CREATE OR REPLACE VIEW autoscalers AS
SELECT arrayJoin({autoscalers}) AS component
COMMENT 'Components that add nodes for pods without one. They write Events with the scheduler''s reasons'
