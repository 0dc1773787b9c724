"""The wiring: settings, and each long-running part put together."""
