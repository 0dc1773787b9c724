"""Findings and alerts as Kafka messages."""
