"""Lists and watches the API server, as client-go's reflector does."""
