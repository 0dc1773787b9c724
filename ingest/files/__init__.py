"""Reads captures, dumps and folders of them as observations in order of time."""
