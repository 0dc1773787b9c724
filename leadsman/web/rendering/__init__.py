"""Pages and reports as HTML."""
