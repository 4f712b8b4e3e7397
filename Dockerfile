# Two stages: the first has uv, npm's packages and Node, the second only what runs.
FROM python:3.13-slim AS build
RUN pip install --no-cache-dir uv
WORKDIR /app
ENV UV_LINK_MODE=copy UV_PYTHON_DOWNLOADS=never
COPY . .
RUN uv sync --no-dev --no-cache
# Any key does for collecting static files; none of it stays in the image.
RUN COGNIREVIEW_SECRET_KEY=only-while-static-files-are-collected-into-the-image-0 \
    .venv/bin/python manage.py collectstatic --noinput

FROM python:3.13-slim
RUN useradd --system --uid 10001 --no-create-home cognireview
WORKDIR /app
COPY --from=build /app /app
ENV PATH=/app/.venv/bin:$PATH PYTHONUNBUFFERED=1
USER cognireview
EXPOSE 8000
# The orchestrator asks /healthz and /readyz; by itself the image starts one web server.
CMD ["granian", "--interface", "wsgi", "--host", "0.0.0.0", "--port", "8000", "--blocking-threads", "8", "cognireview.wsgi:application"]
