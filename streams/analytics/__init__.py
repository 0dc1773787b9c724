"""The analytics, one reducer per file."""
