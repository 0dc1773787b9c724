"""One way to a database, embedded or a server."""
