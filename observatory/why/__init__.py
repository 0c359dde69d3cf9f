"""Why a window went as it did: the time of its threads, its critical path, findings, and what if."""
