# One image for every process; docker-compose.yml says which one a container runs.
FROM python:3.12-slim-bookworm AS wheel

WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY observatory observatory
COPY frontend frontend
RUN pip wheel --quiet --no-deps --wheel-dir /wheel .

FROM python:3.12-slim-bookworm

RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends make curl && rm -rf /var/lib/apt/lists/*
RUN useradd --system --create-home --home-dir /srv/observatory observatory
USER observatory
WORKDIR /srv/observatory

# the versions that tests ran with
COPY --chown=observatory Makefile requirements.txt ./
RUN make .venv/installed
COPY --from=wheel /wheel /tmp/wheel
RUN .venv/bin/pip install --quiet --no-deps /tmp/wheel/*.whl

ENV PATH=/srv/observatory/.venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    MALLOC_ARENA_MAX=2 \
    MALLOC_MMAP_THRESHOLD_=131072 \
    MALLOC_TRIM_THRESHOLD_=131072 \
    OBSERVATORY_DATA_DIR=/srv/observatory/data
RUN mkdir --mode=700 data data/exchange && dask-observatory collectstatic --noinput --verbosity 0

EXPOSE 8000
# without compression on the socket: each frame would be compressed again for each page
CMD ["uvicorn", "observatory.config.asgi:application", "--host", "0.0.0.0", "--port", "8000", \
     "--http", "observatory.config.http_protocol:HttpProtocol", \
     "--no-proxy-headers", "--no-access-log", "--ws-per-message-deflate", "false"]
