"""Encodes findings and alerts as Kafka messages."""
