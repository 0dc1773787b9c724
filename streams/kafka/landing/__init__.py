"""Stores messages of topics, exactly once for every query."""
