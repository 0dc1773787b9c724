"""Answers that are computed and not stored: fit, backtest, drain and scheduler simulation."""
