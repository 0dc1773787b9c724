"""Reads texts that people paste: logs of kubelets, and the output of `kubectl describe` and `kubectl get`."""
