"""The runtime without a broker, in one process."""
