"""The report and the page: what the database concluded, for a person who reads.

`reading` asks the database, `attention` ranks, `rendering` writes HTML, `site` serves it.
"""
