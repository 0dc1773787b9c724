"""What we conclude, one reducer a file."""
