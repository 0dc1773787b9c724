"""The base of every room: time, text, processes and telemetry; nothing about Kubernetes, Kafka or ClickHouse."""
