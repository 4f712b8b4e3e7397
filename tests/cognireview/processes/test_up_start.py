"""The start of `manage.py up`: the address that it prints, and why it may fail."""

import os
import socket
from pathlib import Path

import pytest
from django.test import override_settings

from cognireview.processes import up as up_module
from tests.cognireview.processes.test_up import start
from tests.support.waiting import PATIENCE


@pytest.mark.parametrize(
    ("resolved", "host"),
    [(["127.0.0.1"], "localhost"), (["10.0.0.7"], "127.0.0.1"), ([], "127.0.0.1")],
    ids=["to us", "elsewhere", "not at all"],
)
def test_printed_url_uses_localhost_name_for_passkeys_if_it_resolves(
    resolved: list[str], host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look_up(*_: object) -> list[tuple[object, ...]]:
        if not resolved:
            raise socket.gaierror
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0)) for address in resolved]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    assert up_module._public_url(8000) == f"http://{host}:8000"


@pytest.mark.slow
class TestUpStartFailure:
    """One line, and an exit status that differs for a running site and a mistake of the operator."""

    def test_up_rejects_port_of_another_program(self) -> None:
        with socket.create_server(("127.0.0.1", 0), reuse_port=True) as other:
            port = other.getsockname()[1]
            with pytest.raises(up_module.CannotRun, match=f"^Port {port} cannot be used: .*$") as caught:
                up_module._check_port(port, patient=False)
        assert caught.value.status == 2

    def test_up_waits_for_port_of_stopping_instance(self, monkeypatch: pytest.MonkeyPatch) -> None:
        with socket.create_server(("127.0.0.1", 0), reuse_port=True) as left_behind:
            port = left_behind.getsockname()[1]
            monkeypatch.setattr("time.sleep", lambda _seconds: left_behind.close())
            up_module._check_port(port, patient=True)

    def test_up_rejects_second_instance_on_same_data(self, tmp_path: Path) -> None:
        with up_module._exclusive_lock(tmp_path, "http://localhost:8000"):
            second = start(tmp_path, 8001)
            _, said = second.communicate(timeout=PATIENCE)
        assert second.returncode == 1
        assert said.count("\n") == 2
        assert f"http://localhost:8000 (process {os.getpid()})" in said

    def test_up_rejects_invalid_setting(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COGNIREVIEW_PUBLIC_URL", "gopher://")
        process = start(tmp_path, 8000)
        _, said = process.communicate(timeout=PATIENCE)
        assert process.returncode == 2
        assert "COGNIREVIEW_PUBLIC_URL: got 'gopher://'" in said
        assert "Traceback" not in said

    def test_up_rejects_missing_front_end_packages(self, tmp_path: Path) -> None:
        remedy = "uv sync --reinstall-package cognireview"
        with (
            override_settings(STATICFILES_DIRS=[tmp_path]),
            pytest.raises(up_module.CannotRun, match=remedy) as caught,
        ):
            up_module._check_front_end()
        assert caught.value.status == 2
