"""Parses quantities, versions and zones like Kubernetes."""
