"""The page's queries, and the types that they return."""
