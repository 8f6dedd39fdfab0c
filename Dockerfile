# The broker in a small image: docker build -t oncelog . && docker run -p 9092:9092 -v oncelog:/data oncelog
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml setup.py README.md LICENSE NOTICE CHANGELOG.md ./
COPY src ./src
# hadolint ignore=DL3008
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/* \
    && python -m venv /opt/oncelog && /opt/oncelog/bin/pip install --no-cache-dir '.[speed,cli,regex]'

FROM python:3.13-slim
RUN useradd --system --uid 9092 --no-create-home oncelog && install -d -o 9092 /data
COPY --from=build /opt/oncelog /opt/oncelog
USER 9092
VOLUME /data
EXPOSE 9092
ENV PATH=/opt/oncelog/bin:$PATH
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s CMD ["oncelog", "topics", "list", "--bootstrap-server", "127.0.0.1:9092"]
ENTRYPOINT ["oncelog"]
CMD ["serve", "--listen", "0.0.0.0:9092", "--data", "/data", "--set", "advertised.listeners=PLAINTEXT://localhost:9092"]
