"""Tables and views: migrations, retention, reference."""
