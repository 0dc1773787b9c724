"""Turns an observation into records without its secrets. Pure."""
