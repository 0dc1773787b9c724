"""Explains how pods and their containers end."""
