"""The API as data: operations, responses, and objects in requests. Docstrings are descriptions in OpenAPI."""
