"""What is added up over time, one module each: the keys, the columns, and the query of the rows."""
