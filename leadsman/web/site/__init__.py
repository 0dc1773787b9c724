"""Serving the page: who may read, and what an address asks for."""
