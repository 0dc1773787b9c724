"""One file for each resource of the capture format: where it comes from, what is kept of it, how a dump shows it."""
