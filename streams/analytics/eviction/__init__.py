"""Eviction trends, evictions and pressure."""
