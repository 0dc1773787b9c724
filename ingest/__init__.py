"""Sources of observations, and their pure conversion to records."""
