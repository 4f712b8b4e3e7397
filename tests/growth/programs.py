"""Clients of real web servers: programs with a token, and browsers. Also the files that they upload."""

import json
from typing import Any

import requests
from django.contrib.auth.hashers import PBKDF2PasswordHasher

from reviews.accounts import api_tokens
from reviews.models import Run, User
from reviews.records.schema import HUMAN_FIELDS
from tests.support.factories import PASSWORD, UserFactory
from tests.support.lines import RECORD, file_of, line
from tests.support.servers import Server
from tests.support.waiting import eventually

SECONDS = 30  # for a response, or the end of a job


def scored(runs: int, records: int) -> list[bytes]:
    """Return a file for each run, with that many records."""
    return [file_of(*(line(f"eval_{run}_{number}") for number in range(records))) for run in range(runs)]


def undecided(data: bytes) -> bytes:
    """Return the lines of an export with the original human_* values."""
    values = {name: RECORD[name] for name in HUMAN_FIELDS}
    return file_of(*(json.dumps(json.loads(one) | values).encode() for one in data.splitlines()))


class Program:
    """A program with a user's token, which calls the API of any web server."""

    def __init__(self, name: str, role: str, *scopes: str) -> None:
        self.person = UserFactory.create(username=name, role=role)
        text = api_tokens.create(person=self.person, scopes=scopes, actor=None).text
        self._headers = {"Authorization": f"Bearer {text}"}

    def ask(self, site: Server, method: str, path: str, **options: Any) -> requests.Response:
        headers = self._headers | options.pop("headers", {})
        address = f"{site.url}/api/v1/{path}"
        answer = requests.request(method, address, headers=headers, timeout=SECONDS, **options)
        assert answer.status_code < 500, answer.text
        return answer

    def upload(self, site: Server, run: str, data: bytes) -> int:
        """Upload a file and return the id of its import."""
        kind = {"Content-Type": "application/x-ndjson"}
        answer = self.ask(site, "POST", f"runs/{run}/imports", data=data, headers=kind)
        assert answer.status_code == 202, answer.text
        return int(answer.json()["id"])

    def wait_for(self, site: Server, import_id: int) -> None:
        """Wait until the job of an import is done."""

        def is_done() -> bool:
            state = self.ask(site, "GET", f"imports/{import_id}").json()["state"]
            assert state not in {"failed", "cancelled"}
            return bool(state == "done")

        assert eventually(is_done, within=SECONDS)

    def review_all(self, run: str, *sites: Server) -> list[str]:
        """Claim and decide all records, on the sites in turn, and return their ids."""
        decided: list[str] = []
        while True:
            claiming, deciding = (sites[(len(decided) + turn) % len(sites)] for turn in (0, 1))
            name = self.review_next(run, claiming, deciding)
            if not name:
                return decided
            decided.append(name)

    def review_next(self, run: str, claiming: Server, deciding: Server) -> str:
        """Claim a record at one site and decide it at the other. Return its id, or "" at the end."""
        claimed = self.ask(claiming, "POST", f"runs/{run}/claims")
        if claimed.status_code == 204:
            return ""
        record = claimed.json()
        name = str(record["evaluation_id"])
        scores = {one["criterion"]: {"score": "No"} for one in record["criteria"]}
        answer = self.ask(
            deciding,
            "PUT",
            f"runs/{run}/evaluations/{name}/review",
            json={"corrected_scores": scores, "comments": f"Decided by {self.person.username}."},
            headers={"Idempotency-Key": name},
        )
        assert answer.status_code == 200, answer.text
        return name


class Browser:
    """A user's browser, which uses several web servers with the same cookies."""

    def __init__(self, person: User) -> None:
        # Web servers do not accept the fast hashes of other tests.
        person.password = PBKDF2PasswordHasher().encode(PASSWORD, "salt", iterations=1000)
        person.save(update_fields=["password"])
        self.person = person
        self.session = requests.Session()

    def get(self, site: Server, path: str) -> requests.Response:
        return self.session.get(site.url + path, timeout=SECONDS)

    def post(self, site: Server, path: str, **data: str) -> requests.Response:
        """Post the form of a page, with its CSRF token."""
        page = self.get(site, path).text
        token = page.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
        return self.session.post(site.url + path, {"csrfmiddlewaretoken": token, **data}, timeout=SECONDS)

    def log_in(self, site: Server, password: str = PASSWORD) -> requests.Response:
        return self.post(site, "/login/", login=self.person.username, password=password)

    def export(self, site: Server, run: Run) -> str:
        """Start an export job and return the path of its page."""
        asked = self.post(site, f"/runs/{run.pk}/export/", format="jsonl")
        assert asked.status_code == 200, asked.text
        return asked.url.removeprefix(site.url)

    def download(self, site: Server, page: str) -> bytes:
        """Return the file of an export once it is ready."""
        assert eventually(lambda: self.get(site, f"{page}file").status_code == 200, within=SECONDS)
        return self.get(site, f"{page}file").content
