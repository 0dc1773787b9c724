"""Renders pages and reports as HTML."""
