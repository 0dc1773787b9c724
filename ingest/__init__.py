"""Sources of observations, and the pure step that makes them records."""
