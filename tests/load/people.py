"""Create users with API tokens for the programs of a load test."""

import random

from reviews.accounts import api_tokens, people
from tests.load.client import Client, Times
from tests.load.reviewing import Reviewer


def token_of(name: str, role: str, *scopes: str) -> str:
    """Create a user and return an API token for them."""
    person = people.add_user(username=name, password=None, role=role, actor=None)
    return api_tokens.create(person=person, scopes=scopes, days=1, actor=None).text


def team(port: int, run: str, size: int, times: Times, chance: random.Random) -> list[Reviewer]:
    """Create `size` programs that review a run, each with its own random generator."""
    return [_reviewer(port, run, f"reviewer{number}", times, chance) for number in range(size)]


def _reviewer(port: int, run: str, name: str, times: Times, chance: random.Random) -> Reviewer:
    own = random.Random(chance.getrandbits(64))
    return Reviewer(name, run, Client(port, token_of(name, "reviewer", "review", "read"), times, own), own)
