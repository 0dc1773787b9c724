"""Computes a pod's QoS class, effective requests and cgroup values."""
