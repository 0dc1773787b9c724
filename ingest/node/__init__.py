"""Reads the kubelet's state on the machine itself."""
