"""Rows and samples into tables."""
