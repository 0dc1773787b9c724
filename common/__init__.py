"""What every room stands on: time, text, processes and telemetry; nothing of Kubernetes, Kafka or ClickHouse."""
