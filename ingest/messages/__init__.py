"""Messages of Events, conditions and statuses: what of them may leave a source."""
