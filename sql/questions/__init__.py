"""Saved queries, and the facts that other answers read from tables."""
