"""What pages request of tiles, one in the path or several in the query, and what is sent for several."""

from __future__ import annotations

import gzip
import struct
from urllib.parse import parse_qs, urlsplit


def tiles_of(url: str) -> list[str]:
    """The names (layer/level/index) of the tiles that a URL requests; none: it is another one."""
    parts = urlsplit(url)
    _, is_tile, name = parts.path.partition("/tiles/")
    if is_tile:
        return [name]
    return parse_qs(parts.query).get("of", [""])[0].split(",") if parts.path.endswith("/tiles") else []


def layers_of(url: str) -> list[str]:
    """The layers of these tiles."""
    return [name.split("/")[0] for name in tiles_of(url)]


def unpacked(content: bytes) -> list[bytes]:
    """The blocks of each tile of a response with several."""
    bodies = []
    while content:
        [length] = struct.unpack_from("<I", content)
        bodies.append(gzip.decompress(content[4 : 4 + length]))
        content = content[4 + length :]
    return bodies
