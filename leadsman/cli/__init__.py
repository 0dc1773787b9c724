"""The commands of `leadsman`, a module for those that belong together."""
