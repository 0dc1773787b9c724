"""Saved queries, and the facts that other questions read from tables."""
