"""The runtime on Kafka: Faust agents, their state, and landing."""
