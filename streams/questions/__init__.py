"""Fit, backtest and scheduler simulation: questions that are computed, not stored."""
