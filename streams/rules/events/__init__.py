"""Parses Events' counts and the kubelet's messages."""
