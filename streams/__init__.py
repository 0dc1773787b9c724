"""Kubernetes' behaviour (rules), our conclusions (analytics), and the runtimes that fold records."""
