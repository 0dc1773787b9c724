"""Describes the kubelet's image garbage collection: its arithmetic and its messages."""
