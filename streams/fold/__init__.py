"""Defines the interface of a reducer, the fold over records, and the resulting rows."""
