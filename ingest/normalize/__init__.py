"""Converts an observation to records without its secrets. Pure."""
