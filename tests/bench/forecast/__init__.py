"""Measures how good forecasts of thresholds are: `make bench-forecast`."""
