"""Serves the page: access control, and the parsing of addresses."""
