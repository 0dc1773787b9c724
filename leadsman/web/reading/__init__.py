"""What the page asks the database, and what it makes of the answers."""
