"""The commands of `leadsman`, one file each, and the presentation of their answers."""
