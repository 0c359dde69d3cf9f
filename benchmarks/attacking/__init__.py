"""One project's tokens at their worst, another project's pages and agent, and an equally busy program."""
