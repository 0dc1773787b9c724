"""Publish to Kafka and keep its topics."""
