"""Kubernetes' behaviour (rules), conclusions from it (analytics), and the runtimes that fold records."""
