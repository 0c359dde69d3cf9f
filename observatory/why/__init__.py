"""Why a window went as it did: where the time of its threads went."""
