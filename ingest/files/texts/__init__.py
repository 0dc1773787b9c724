"""Texts that people paste: kubelets' logs, what `kubectl describe` and `kubectl get` print."""
