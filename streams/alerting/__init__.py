"""What `streams.alerts` is made of: the rules that people set, the conditions, and how long each must hold."""
