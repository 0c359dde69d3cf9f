"""Names, series, lifetimes and lanes: stored once, referred to by id."""
