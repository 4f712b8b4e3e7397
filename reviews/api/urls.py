"""The API: its operations, their OpenAPI 3.1 schema, and their URLs."""

from typing import Any

from django.utils.functional import cached_property
from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema

from reviews.api import operation_links, problem_handlers, problems, values
from reviews.api.bodies import JsonParser, JsonRenderer
from reviews.api.examples import EXAMPLES
from reviews.api.scopes import ScopeQuery

# Groups of operations, in the order of documents.
_TAGS = {
    "runs": "Runs with their settings, members, rubric, report and plan.",
    "imports": "Files of records, and uploads that continue after an interruption.",
    "task context": "Questions, reference answers and model responses.",
    "records": "Records of a run: lists with filters, and single records.",
    "review": "Claims, decisions, drafts and independent reviews.",
    "escalations": "Questions and disagreements, and the answers of leads.",
    "inbox": "Everything that waits for a lead or an admin.",
    "bulk changes": "Changes of many records at once.",
    "spot checks": "Decisions that a lead checks.",
    "known answers": "Checks of reviewers against a lead's own reviews.",
    "conflicts": "Decisions in files that contradict those made here.",
    "gold sets": "Frozen decisions, to measure judges.",
    "exports": "Runs with their decisions, as files.",
    "audit": "The audit log and its hash chain.",
    "people": "Accounts, roles and invitations.",
    "tokens": "Tokens of programs.",
    "webhooks": "Messages to other programs about events.",
    "site": "Jobs, and the state of the site.",
}


class Api(NinjaAPI):
    """Add the schema of problems, the examples and the links to the OpenAPI schema."""

    def get_openapi_schema(self, **options: Any) -> OpenAPISchema:
        """Return the schema, which is the same for every request."""
        return self._schema

    @cached_property
    def _schema(self) -> OpenAPISchema:
        schema = super().get_openapi_schema()
        components = schema["components"]["schemas"]
        components["Problem"] = problems.SCHEMA
        # Its members are parameters of their own.
        del components[ScopeQuery.__name__]
        components.update(values.body_components())
        for name, example in EXAMPLES.items():
            components[name]["examples"] = [example]
        operation_links.add_links(schema)
        return schema


api = Api(
    title="CogniReview",
    version="1",
    description="Every request needs a token: `Authorization: Bearer cr_...`.",
    servers=[{"url": "/", "description": "This site."}],
    openapi_extra={
        "info": {
            "contact": {"name": "The CogniReview founders"},
            "license": {"name": "Apache License 2.0", "identifier": "Apache-2.0"},
        },
        "tags": [{"name": name, "description": text} for name, text in _TAGS.items()],
    },
    docs_url=None,
    parser=JsonParser(),
    renderer=JsonRenderer(),
)
for exception, handler in problem_handlers.HANDLERS.items():
    api.add_exception_handler(exception, handler)
# The first match is used, and ids may contain slashes: longer paths come first. The operations that create
# runs come last. They accept any name, to say why it is refused.
for part in (
    "decisions",
    "record_actions",
    "evaluations",
    "drafts",
    "bulk_changes",
    "conflicts",
    "spot_checks",
    "run_settings",
    "escalations",
    "inbox",
    "known_answers",
    "exports",
    "people",
    "tokens",
    "webhooks",
    "site",
    "gold_sets",
    "runs",
    "task_context",
    "audit",
    "uploads",
    "imports",
):
    api.add_router("", f"reviews.api.{part}.router")


# `reviews.urls` names application and namespace, to load this module only for requests to the API.
urlpatterns = api.urls[0]
for _pattern in urlpatterns:
    # Operations check a token; `LoginMiddleware` would ask for a session.
    _pattern.callback.login_required = False  # type: ignore[union-attr]
