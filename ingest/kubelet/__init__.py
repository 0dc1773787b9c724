"""Poll kubelets for statistics, settings and metrics."""
