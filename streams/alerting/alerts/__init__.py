"""One file an alert, with the alert's name in snake case: `streams.alerting.rules` finds them."""
