"""Reads texts that people paste: kubelets' logs, and output of `kubectl describe` and `kubectl get`."""
