"""Who is told of alerts, and how each is told all of them whatever happens in between."""
