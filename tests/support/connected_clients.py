"""Clients that are connected to the site."""

from pytest_django.live_server_helper import LiveServer

from cognireview.client import Client, Retries
from cognireview.client.areas.run import Run as RunOf
from cognireview.client.backends import Blocking
from reviews.accounts import api_tokens
from reviews.models import User

ClientRun = RunOf[Blocking]


def connect(person: User, live_server: LiveServer, *scopes: str) -> Client:
    token = api_tokens.create(person=person, scopes=scopes or [*api_tokens.SCOPES], actor=None).text
    return Client(live_server.url, token, retries=Retries(times=0))
