"""Answers as text, tables and JSON."""
