"""What needs attention, how badly, and what is not known."""
