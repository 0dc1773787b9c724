"""What a reducer is, how records are folded, and the rows that come out."""
