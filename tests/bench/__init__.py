"""Ratios of the replay to what cannot be beaten, measured in one run: `make bench`."""
