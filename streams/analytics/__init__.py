"""The analytics, one reducer a file."""
