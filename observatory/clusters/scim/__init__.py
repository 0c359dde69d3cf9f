"""SCIM 2.0: an identity provider tells who joins and who leaves, and people who left are deactivated."""
