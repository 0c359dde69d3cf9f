"""Blocks that the server makes: of tiles and of live frames, and their size."""
