"""Computes the effect of a kubelet's settings on its node."""
