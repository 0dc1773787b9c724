"""Publishes to Kafka and creates its topics."""
