"""Moves messages from topics to a store, exactly once for every query."""
