"""The API's responses and the objects in requests. Docstrings of members are descriptions in OpenAPI."""
