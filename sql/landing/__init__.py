"""Inserts rows and samples into tables."""
