"""The report and the page: what the database concluded, for a person who reads.

`scope` chooses cluster and range, `overview` and `detail` read, `attention` ranks, `render` writes HTML;
`report` makes one file of it, `serve` a site.
"""
