"""Decides what needs attention, how urgent it is, and what is unknown."""
