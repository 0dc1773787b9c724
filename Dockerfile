# All parts of Leadsman, one image: make image
# It has no embedded engine, which would more than double it, for these parts use a server: --build-arg EMBEDDED=yes
# adds it.
# It runs as a user without rights on a read-only root; only /tmp is written, and the folder of an embedded database.
# The base is pinned by digest; the tag is for readers and for what proposes newer ones (.github/dependabot.yml).
FROM python:3.11-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b AS build
WORKDIR /src
COPY .lock/setup.txt .lock/image.txt .lock/all.txt .lock/
RUN python -m venv /opt/build && /opt/build/bin/pip install --no-cache-dir --require-hashes --no-deps -r .lock/setup.txt
ARG EMBEDDED=no
RUN python -m venv --without-pip /opt/leadsman \
    && if test "$EMBEDDED" = yes; then lock=all; else lock=image; fi \
    && /opt/build/bin/uv pip install --no-cache --compile-bytecode --python /opt/leadsman/bin/python \
       --require-hashes --no-deps -r .lock/$lock.txt
COPY pyproject.toml README.md LICENSE ./
COPY common common
COPY ingest ingest
COPY streams streams
COPY sql sql
COPY leadsman leadsman
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /wheels . \
    && /opt/build/bin/uv pip install --no-cache --compile-bytecode --python /opt/leadsman/bin/python --no-deps /wheels/*.whl

FROM python:3.11-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b
COPY --from=build /opt/leadsman /opt/leadsman
ENV PATH=/opt/leadsman/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 HOME=/tmp
WORKDIR /tmp
USER 10001:10001
ENTRYPOINT ["leadsman"]
CMD ["--help"]
