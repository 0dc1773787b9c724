"""NUMA skew of nodes and of the cluster."""
