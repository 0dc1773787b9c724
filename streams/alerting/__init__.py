"""Alerts: settings, conditions, how long each must hold, and the receivers."""
