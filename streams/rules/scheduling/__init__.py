"""Models the scheduler's view of nodes and pods: node tree, fit, messages, blind spots."""
