"""Requests of a pod: QoS class, effective requests, cgroup values."""
