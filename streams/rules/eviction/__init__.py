"""Eviction signals, thresholds and order, as the kubelet computes them."""
