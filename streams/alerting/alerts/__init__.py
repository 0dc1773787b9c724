"""One file an alert, with the alert's name in snake case: `streams.alerting.rules_file` finds them."""
