"""What `streams.alerting.engine` is made of: the rules that people set, the conditions, and how long each must hold."""
