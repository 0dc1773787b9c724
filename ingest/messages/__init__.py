"""Redaction of messages of Events, conditions and statuses."""
