"""Queries of the page, and the types that they return."""
