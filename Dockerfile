# One image for all services of docker-compose.yml.
FROM python:3.11-slim

WORKDIR /opt/feed_assets
COPY requirements.lock pyproject.toml README.md dagster.yaml feeds.yaml ./
COPY sql sql
COPY feed_assets feed_assets
RUN pip install --no-cache-dir -r requirements.lock && pip install --no-cache-dir --no-deps .

# Dagster's home inside the image: its storage is the Postgres of docker-compose.yml.
COPY deploy/dagster.yaml /opt/dagster/dagster.yaml
COPY deploy/workspace.yaml /opt/dagster/workspace.yaml
ENV DAGSTER_HOME=/opt/dagster FEED_ASSETS_HOME=/var/lib/feed_assets

RUN useradd --system --create-home reader && mkdir -p /var/lib/feed_assets && chown reader /var/lib/feed_assets /opt/dagster
USER reader
CMD ["feed-assets", "serve", "--host", "0.0.0.0"]
