-- column component: As its Events name it
CREATE OR REPLACE VIEW autoscalers AS
SELECT arrayJoin(['karpenter', 'eks-auto-mode/compute', 'cluster-autoscaler']) AS component
COMMENT 'What adds nodes for pods that find none: it says so with reasons of the scheduler'
