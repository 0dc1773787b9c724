"""One file for each alert, named in snake case: `streams.alerting.rules_file` finds them."""
