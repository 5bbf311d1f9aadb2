# One image for all services of docker-compose.yml and for Kubernetes.
FROM python:3.11-slim AS build

WORKDIR /build
RUN python -m venv /opt/venv
COPY requirements.lock pyproject.toml README.md dagster.yaml feeds.yaml ./
COPY sql sql
COPY feed_assets feed_assets
# The lock says which versions; what only tests and linters need stays out.
RUN /opt/venv/bin/pip install --no-cache-dir --constraint requirements.lock ".[celery,kubernetes]"

FROM python:3.11-slim

COPY --from=build /opt/venv /opt/venv
# Dagster's homes: runs beside the code, or on Celery workers. Kubernetes mounts its own over them.
COPY deploy/dagster.yaml /opt/dagster/here/dagster.yaml
COPY deploy/celery/dagster.yaml /opt/dagster/celery/dagster.yaml
COPY deploy/workspace.yaml /opt/dagster/workspace.yaml
ENV PATH=/opt/venv/bin:$PATH DAGSTER_HOME=/opt/dagster/here FEED_ASSETS_HOME=/var/lib/feed_assets PYTHONUNBUFFERED=1

RUN useradd --system --uid 10001 --create-home reader && mkdir -p /var/lib/feed_assets && chown -R reader /var/lib/feed_assets /opt/dagster
USER 10001
WORKDIR /var/lib/feed_assets
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s \
    CMD ["python", "-c", "import urllib.request as web; web.urlopen('http://127.0.0.1:8080/health/live', timeout=5)"]
CMD ["feed-assets", "serve", "--host", "0.0.0.0"]
