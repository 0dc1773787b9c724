"""The report and the page, which show what the database contains.

`reading` queries the database, `attention` ranks problems, `rendering` writes HTML, `site` serves it.
"""
