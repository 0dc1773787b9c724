"""Redacts messages of Events, conditions and statuses."""
