"""Saved queries and what is asked of the tables."""
