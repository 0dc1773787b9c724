"""Polls kubelets for statistics, settings and metrics."""
