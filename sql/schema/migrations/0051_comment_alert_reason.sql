ALTER TABLE alerts
    COMMENT COLUMN reason 'Why it was resolved: unknown (no data for an hour, so nobody knows whether it still holds), deleted (the node is gone), cordoned (the node is, and the alert is quiet meanwhile); else empty: it is over'
