"""Quantities, versions and zones, as Kubernetes reads them."""
