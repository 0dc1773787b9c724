"""JSON Schemas of what the topics carry."""
