"""List and watch the API server, as client-go's reflector does."""
