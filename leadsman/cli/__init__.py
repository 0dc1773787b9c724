"""The commands of `leadsman`, a file each, and how their answers are presented."""
