"""From topics to a store, exactly once for every query."""
