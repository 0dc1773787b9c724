"""Formats answers as text, tables and JSON."""
