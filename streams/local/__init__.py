"""The runtime without a broker."""
