"""Two runs beside each other, the history of a name, and checks in CI."""
