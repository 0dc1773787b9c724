"""Runs all live sources of one cluster, into a capture or into Kafka."""
