"""An object store: moto_server, a process that speaks S3, behind a connection that can be cut or slow."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

import boto3
import requests

from tests.collect.dask_processes import free_port
from tests.support.debian_servers import Process, listens

BUCKET = "observatory"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "observatory", "AWS_SECRET_ACCESS_KEY": "secret"}
ENVIRONMENT = {**CREDENTIALS, "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"}
POLICY = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
CHUNK = 1 << 16


class Relay:
    """A port that leads to another one, until it is cut."""

    def __init__(self, port: int) -> None:
        self.port = free_port()
        self.delay = 0.0
        """seconds before each answer"""
        self.upload_limit: int | None = None
        """bytes of requests after which it is cut"""
        self._to = port
        self._listening: socket.socket | None = None
        self._open: set[socket.socket] = set()
        self.connect()

    def connect(self) -> None:
        """Undo `cut`."""
        if self._listening is not None:
            return
        self._listening = socket.create_server(("127.0.0.1", self.port), backlog=64)
        Thread(target=self._accept, args=[self._listening], daemon=True).start()

    def cut(self) -> None:
        """Connections end in the middle, and new ones are refused."""
        if self._listening is not None:
            listening, self._listening = self._listening, None
            with suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            listening.close()
        for each in list(self._open):
            _close(each)

    def _accept(self, listening: socket.socket) -> None:
        while True:
            try:
                client, _ = listening.accept()
                server = socket.create_connection(("127.0.0.1", self._to))
            except OSError:
                return
            self._open |= {client, server}
            Thread(target=self._pass_on, args=[client, server, True], daemon=True).start()
            Thread(target=self._pass_on, args=[server, client, False], daemon=True).start()

    def _pass_on(self, source: socket.socket, destination: socket.socket, is_upload: bool) -> None:
        try:
            while data := source.recv(CHUNK):
                if is_upload and self.upload_limit is not None:
                    self.upload_limit -= len(data)
                    if self.upload_limit < 0:
                        self.cut()
                        return
                if not is_upload:
                    time.sleep(self.delay)
                destination.sendall(data)
        except OSError:
            pass
        finally:
            for each in (source, destination):
                _close(each)
            self._open -= {source, destination}


def _close(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


class ObjectStore:
    """A bucket, and whether and how fast it can be reached."""

    def __init__(self, folder: Path) -> None:
        port = free_port()
        self._own = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        environment = {**os.environ, **ENVIRONMENT}
        self.process = Process(command, folder / "moto.log", lambda: listens(port), env=environment)
        self.process.start()
        self.make_bucket()
        self.connection = Relay(port)

    @property
    def url(self) -> str:
        return f"s3://{BUCKET}/archive?endpoint_override=127.0.0.1:{self.connection.port}&scheme=http"

    def make_bucket(self) -> None:
        """In a process that was just started: what it had before is lost."""
        self.process.wait_until_ready()
        self._ask("PUT", f"/{BUCKET}")

    def empty(self) -> None:
        self._ask("POST", "/moto-api/reset")
        self.make_bucket()

    def unfinished_uploads(self) -> int:
        """Of the bucket: their parts are there, and nobody sees them."""
        return self._ask("GET", f"/{BUCKET}?uploads").count("<UploadId>")

    @contextmanager
    def cut(self) -> Iterator[None]:
        self.connection.cut()
        try:
            yield
        finally:
            self.connection.connect()

    @contextmanager
    def asking_for_credentials(self) -> Iterator[dict[str, str]]:
        """Others than those that it yields, as variables of the environment, are refused."""
        users = boto3.client(
            "iam",
            endpoint_url=self._own,
            region_name="us-east-1",
            aws_access_key_id="administrator",
            aws_secret_access_key="administrator",
        )
        users.create_user(UserName="observatory")
        users.put_user_policy(UserName="observatory", PolicyName="all", PolicyDocument=json.dumps(POLICY))
        key = users.create_access_key(UserName="observatory")["AccessKey"]
        self._ask("POST", "/moto-api/reset-auth", "0")
        try:
            yield {
                "AWS_ACCESS_KEY_ID": key["AccessKeyId"],
                "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"],
            }
        finally:
            self._ask("POST", "/moto-api/reset-auth", "inf")

    def stop(self) -> None:
        self.connection.cut()
        self.process.kill()

    def _ask(self, method: str, path: str, body: str = "") -> str:
        answer = requests.request(method, f"{self._own}{path}", data=body, timeout=60)
        answer.raise_for_status()
        return answer.text


@contextmanager
def object_store(folder: Path) -> Iterator[ObjectStore]:
    store = ObjectStore(folder)
    try:
        yield store
    finally:
        store.stop()
