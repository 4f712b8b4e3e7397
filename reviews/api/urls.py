"""The API as a whole: its operations, their schema (OpenAPI 3.1), and where they stand."""

from typing import Any

from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema

from reviews.api import audit, decisions, evaluations, imports, problems, runs
from reviews.api.bodies import JsonParser, JsonRenderer


class Api(NinjaAPI):
    """The API, whose schema has the one shape of problems among its components."""

    def get_openapi_schema(self, **options: Any) -> OpenAPISchema:
        schema = super().get_openapi_schema(**options)
        schema["components"]["schemas"]["Problem"] = problems.SCHEMA
        return schema


api = Api(
    title="CogniReview",
    version="1",
    description="Everything takes a token: `Authorization: Bearer cr_...`.",
    docs_url=None,
    parser=JsonParser(),
    renderer=JsonRenderer(),
)
problems.register_handlers(api)
# The first address that fits is taken, and ids may hold slashes: the longer ones come first.
for part in (imports, runs, decisions, evaluations, audit):
    api.add_router("", part.router)


def _let_in(addresses: list[Any]) -> list[Any]:
    """Leave it to the operations who is let in: here nobody has a session."""
    for address in addresses:
        address.callback.login_required = False
    return addresses


_addresses, _app, _namespace = api.urls
# As `path` takes it.
addresses = (_let_in(_addresses), _app, _namespace)
