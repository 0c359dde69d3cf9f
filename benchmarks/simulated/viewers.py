"""Open pages without browsers, which cost the server the same.

`python -m benchmarks.simulated.viewers URL CLUSTER SESSION COUNT` opens COUNT live sockets. Each line of its
standard input is a request that a real page just made (path and query as JSON). Every viewer repeats it with
a delay of up to a second, by which `at` is shifted too. Prints a line once all sockets received a frame, and
at the end of the input what was received, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from urllib.parse import parse_qs, urlencode, urlsplit

import aiohttp

SPREAD = 1.0
"""seconds"""


class Viewer:
    """One simulated page."""

    def __init__(self, session: aiohttp.ClientSession, url: str, delay: float) -> None:
        self.session = session
        self.url = url
        self.delay = delay
        self.counted: Counter[str] = Counter()
        self.etags: dict[str, str] = {}
        self.opened = asyncio.Event()

    async def watch(self, cluster: int) -> None:
        """Open the socket, with the compression that browsers offer."""
        url = f"{self.url.replace('http', 'ws', 1)}/ws/clusters/{cluster}/live"
        async with self.session.ws_connect(url, origin=self.url, compress=15, max_msg_size=0) as socket:
            async for message in socket:
                self.opened.set()
                self.counted["frames"] += 1
                self.counted["bytes"] += len(message.data)
        self.counted["closed"] += 1

    async def repeat(self, request: str) -> None:
        await asyncio.sleep(self.delay)
        path = self._shifted(request)
        headers = {"If-None-Match": self.etags[path]} if path in self.etags else {}
        async with self.session.get(self.url + path, headers=headers) as answer:
            await answer.read()
            self.counted[f"answers {answer.status}"] += 1
            if "ETag" in answer.headers:
                self.etags[path] = answer.headers["ETag"]

    def _shifted(self, request: str) -> str:
        parts = urlsplit(request)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if "at" not in query:
            return request
        at = float(query["at"]) + self.delay
        return f"{parts.path}?{urlencode({**query, 'at': f'{at:.6f}'})}"


async def view(url: str, cluster: int, session: str, count: int) -> None:
    cookies = {"sessionid": session}
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(cookies=cookies, connector=connector) as client:
        viewers = [Viewer(client, url, SPREAD * number / count) for number in range(count)]
        tasks = {asyncio.create_task(viewer.watch(cluster)) for viewer in viewers}
        await asyncio.gather(*(viewer.opened.wait() for viewer in viewers))
        print("watching", flush=True)
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
        )
        async for line in reader:
            tasks |= {asyncio.create_task(viewer.repeat(json.loads(line))) for viewer in viewers}
        counted = sum((viewer.counted for viewer in viewers), Counter[str]())
        print(json.dumps(counted), flush=True)
        for task in tasks:
            task.cancel()


if __name__ == "__main__":
    asyncio.run(view(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])))
