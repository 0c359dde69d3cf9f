"""Records and blocks: the schema that the collector, the agent, the store and the browser share.

Imports nothing of ours and nothing beyond the standard library, so that it can run inside a cluster.
"""
