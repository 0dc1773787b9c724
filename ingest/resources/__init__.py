"""One file for each resource of the capture format: where it comes from, which fields are kept, its form in a
dump.
"""
