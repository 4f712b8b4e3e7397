"""The commands of the client. tests/recipes runs `push` and `gate` against the site."""

import hashlib
import json
import sys
from pathlib import Path

import pytest
from pytest_django.live_server_helper import LiveServer

from cognireview.client import __main__ as commands
from reviews.accounts import api_tokens
from reviews.imports import shipped_mappings
from reviews.models import Import, Run, User
from tests.support.lines import file_of, import_data, line


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["client", *map(str, arguments)])
    return commands.main()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_export_writes_the_run_and_prints_its_digest(
    live_server: LiveServer,
    max: User,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    data = file_of(line("a"), line("b"))
    import_data(data, run="nightly")
    monkeypatch.setenv("COGNIREVIEW_URL", live_server.url)
    token = api_tokens.create(person=max, scopes=["export"], actor=None).text
    monkeypatch.setenv("COGNIREVIEW_TOKEN", token)
    target = tmp_path / "out.jsonl"
    assert run(monkeypatch, "export", "nightly", target) == 0
    assert target.read_bytes() == data
    digest = hashlib.sha256(data).hexdigest()
    assert capsys.readouterr().out == f"{target}: {len(data)} bytes, SHA-256 {digest}\n"
    assert run(monkeypatch, "export", "nightly", tmp_path / "missing" / "out.jsonl") == 2
    assert "missing" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_push_sets_the_mapping_before_the_import(
    live_server: LiveServer, max: User, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("COGNIREVIEW_URL", live_server.url)
    token = api_tokens.create(person=max, scopes=["import"], actor=None).text
    monkeypatch.setenv("COGNIREVIEW_TOKEN", token)
    judged = {"doc_id": 1, "doc": {}, "resps": [["2"]], "filtered_resps": ["2"], "metrics": ["acc"], "acc": 1}
    (tmp_path / "samples.jsonl").write_text(json.dumps(judged))
    (tmp_path / "own.toml").write_bytes((shipped_mappings.FOLDER / "lm-eval.toml").read_bytes())
    for mapping in ("lm-eval", tmp_path / "own.toml"):
        # No job runs here, so the wait ends after 0 seconds.
        assert run(monkeypatch, "push", tmp_path / "samples.jsonl", "lm", "0", "--map", mapping) == 2
    assert Run.objects.get().mapping == shipped_mappings.BY_NAME["lm-eval"].read().as_json()
    assert Import.objects.filter(run__name="lm").count() == 2
    assert run(monkeypatch, "push", tmp_path / "samples.jsonl", "other", "--map", "nothing") == 2


def test_command_without_settings_names_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COGNIREVIEW_URL", raising=False)
    monkeypatch.delenv("COGNIREVIEW_TOKEN", raising=False)
    assert run(monkeypatch, "gate", "nightly", "accuracy >= 0.8") == 2
    assert capsys.readouterr().err == "Set COGNIREVIEW_URL and COGNIREVIEW_TOKEN, or pass url and token.\n"
