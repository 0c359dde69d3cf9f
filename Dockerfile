# One image for every process; docker-compose.yml says which runs what. The steps are CI's.
FROM python:3.12-slim-bookworm

RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends make curl && rm -rf /var/lib/apt/lists/*
RUN useradd --system --create-home --home-dir /srv/observatory observatory
USER observatory
WORKDIR /srv/observatory

COPY --chown=observatory Makefile requirements.txt ./
RUN make .venv/installed

COPY --chown=observatory manage.py ./
COPY --chown=observatory observatory observatory
COPY --chown=observatory frontend frontend
ENV PATH=/srv/observatory/.venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    OBSERVATORY_DATA_DIR=/srv/observatory/data
RUN mkdir --mode=700 data data/exchange && python manage.py collectstatic --noinput --verbosity 0

EXPOSE 8000
# with compression each frame would be compressed for each page anew
CMD ["uvicorn", "observatory.config.asgi:application", "--host", "0.0.0.0", "--port", "8000", \
     "--no-proxy-headers", "--no-access-log", "--ws-per-message-deflate", "false"]
