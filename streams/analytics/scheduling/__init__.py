"""Pods that find no node, and scheduler blind spots."""
