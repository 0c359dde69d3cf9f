"""Tools for assistants (Model Context Protocol): what the REST API answers, in short and marked as data.

The tools only read, with an access token, and see what its owner may see. `stdio` serves them to an assistant
on the same machine and needs nothing of ours but client/ and wire/; the server has them at /mcp.
"""
