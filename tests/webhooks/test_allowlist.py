"""Allowed and refused targets of webhooks, whatever names resolve to."""

import socket
from typing import Any

import pytest
from django.conf import LazySettings
from django.core.exceptions import ImproperlyConfigured

from cognireview import environment
from cognireview.setting_values import entries
from reviews.webhooks import allowlist
from reviews.webhooks.allowlist import TargetNotAllowed, WebhookTarget

HOSTS = ["hooks.example.org", "ci.lan:8443", "10.1.0.0/16", "localhost:9000", "127.0.0.1:9000", "[::1]:9000"]


@pytest.fixture(autouse=True)
def _hosts(settings: LazySettings) -> None:
    settings.WEBHOOK_HOSTS = HOSTS


@pytest.fixture
def lead(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Host name -> its addresses."""
    names: dict[str, list[str]] = {}

    def found(host: str, port: int, **_: Any) -> list[Any]:
        if host not in names:
            raise socket.gaierror
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in names[host]]

    monkeypatch.setattr(socket, "getaddrinfo", found)
    return names


class TestUrl:
    @pytest.mark.parametrize(
        ("url", "target"),
        [
            ("https://hooks.example.org", WebhookTarget(True, "hooks.example.org", 443, "/")),
            ("https://HOOKS.example.org:443/a?b=c", WebhookTarget(True, "hooks.example.org", 443, "/a?b=c")),
            ("https://ci.lan:8443/?", WebhookTarget(True, "ci.lan", 8443, "/")),
            ("http://localhost:9000/x", WebhookTarget(False, "localhost", 9000, "/x")),
            ("http://[::1]:9000/x", WebhookTarget(False, "::1", 9000, "/x")),
        ],
    )
    def test_listed_url_is_accepted(self, url: str, target: WebhookTarget) -> None:
        assert allowlist.parse_target(url) == target

    @pytest.mark.parametrize(
        ("url", "why"),
        [
            ("https://example.org/", r"example.org with port 443 is not in COGNIREVIEW_WEBHOOK_HOSTS"),
            ("https://hooks.example.org:8443/", "with port 8443 is not in"),
            ("https://ci.lan/", "with port 443 is not in"),
            ("https://a.hooks.example.org/", "is not in"),
            ("https://hooks.example.org./", "is not in"),
            ("https://10.1.2.3/", "is not in"),
            ("https://localhost/", "is not in"),
            ("https://2130706433:9000/", "is not in"),
            ("https://0x7f000001:9000/", "is not in"),
            ("https://0177.0.0.1:9000/", "is not in"),
            ("https://127.1:9000/", "is not in"),
            ("https://xn--hooks-8ua.example.org/", "is not in"),
            ("https://hooks%2eexample.org/", "is not in"),
            ("https://[fe80::1%25eth0]/", "is not in"),
            ("https://[64:ff9b::7f00:1]/", "is not in"),
            ("http://hooks.example.org/", "must begin with https://, except"),
            ("http://ci.lan:8443/", "must begin with https://, except"),
            ("ftp://hooks.example.org/", "must begin with https://"),
            ("file:///etc/passwd", "must begin with https://"),
            ("hooks.example.org", "must begin with https://"),
            ("https://hooks.example.org@elsewhere.org/", "must not contain a user name"),
            ("https://hooks.example.org\\@elsewhere.org/", "must not contain a user name"),
            ("https://hooks.example.org/#part", "must not contain a user name, a password or a #fragment"),
            ("https://hooks.example.org/\nHost: x", "visible ASCII"),
            ("https://hooks.example.org/ä", "visible ASCII"),
            ("https://hooks.example.org:99999/", "This is not a URL"),
            ("https://[::1/", "This is not a URL"),
            ("", "must begin with https://"),
        ],
    )
    def test_unlisted_url_is_refused(self, url: str, why: str) -> None:
        with pytest.raises(TargetNotAllowed, match=why):
            allowlist.parse_target(url)

    def test_url_is_refused_without_a_list(self, settings: LazySettings) -> None:
        settings.WEBHOOK_HOSTS = []
        assert not allowlist.is_enabled()
        with pytest.raises(TargetNotAllowed, match="Webhooks are off"):
            allowlist.parse_target("https://hooks.example.org/")


class TestAddress:
    def addresses(self, url: str) -> list[str]:
        return allowlist.resolve_target(allowlist.parse_target(url))

    def test_host_is_resolved_once_and_addresses_are_unique(self, lead: dict[str, list[str]]) -> None:
        lead["hooks.example.org"] = ["93.184.216.34", "2606:2800:220:1::1", "93.184.216.34"]
        assert self.addresses("https://hooks.example.org/") == ["93.184.216.34", "2606:2800:220:1::1"]

    @pytest.mark.parametrize(
        "address",
        [
            "127.0.0.1",
            "::1",
            "0.0.0.0",
            "10.2.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "100.64.0.1",
            "169.254.169.254",
            "fe80::1%eth0",
            "fd00::1",
            "224.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "::93.184.216.34",
            "::ffff:0:127.0.0.1",
            "64:ff9b::127.0.0.1",
            "64:ff9b::93.184.216.34",
            "64:ff9b:1::a9fe:a9fe",
            "2002:7f00:1::",
            "2002:5db8:d822::1",
            "2001:0:5db8:d822::f5ff:fffe",
            "2001:20::1",
            "2001:30::1",
            "2001:db8::1",
            "3fff::1",
            "fec0::1",
            "fe80::1",
            "ff02::1",
            "100::1",
            "5f00::1",
            "4000::1",
            "2606:2800:220:1:0:5efe:10.0.0.1",
            "192.0.0.1",
            "192.0.0.9",
            "192.0.2.1",
            "192.88.99.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "240.0.0.1",
            "255.255.255.255",
        ],
    )
    def test_private_address_is_refused_even_with_a_public_one(
        self, address: str, lead: dict[str, list[str]]
    ) -> None:
        lead["hooks.example.org"] = ["93.184.216.34", address]
        with pytest.raises(TargetNotAllowed, match="is not public and not in COGNIREVIEW_"):
            self.addresses("https://hooks.example.org/")

    @pytest.mark.parametrize("address", ["10.1.255.1", "::ffff:10.1.0.1"])
    def test_address_of_a_listed_network_is_accepted(self, address: str, lead: dict[str, list[str]]) -> None:
        lead["ci.lan"] = [address]
        assert self.addresses("https://ci.lan:8443/") == [address]

    @pytest.mark.parametrize(
        ("listed", "taken", "refused"),
        [
            ("64:ff9b::/96", "64:ff9b::93.184.216.34", "64:ff9b::10.0.0.1"),
            ("64:ff9b:1::/48", "64:ff9b:1::93.184.216.34", "64:ff9b:1::127.0.0.1"),
            ("2002::/16", "2002:5db8:d822::1", "2002:a9fe:a9fe::1"),
            ("2001::/32", "2001:0:5db8:d822::a247:27dd", "2001:0:5db8:d822::f5ff:fffe"),
            ("fec0::/10", "fec0::1", "fe80::1"),
        ],
    )
    def test_embedded_ipv4_address_must_be_allowed_too(
        self, listed: str, taken: str, refused: str, lead: dict[str, list[str]], settings: LazySettings
    ) -> None:
        settings.WEBHOOK_HOSTS = ["hooks.example.org", listed]
        lead["hooks.example.org"] = [taken]
        assert self.addresses("https://hooks.example.org/") == [taken]
        lead["hooks.example.org"] = [refused]
        with pytest.raises(TargetNotAllowed):
            self.addresses("https://hooks.example.org/")

    def test_listed_address_with_a_port_is_accepted_with_that_port(self, lead: dict[str, list[str]]) -> None:
        lead |= {"localhost": ["127.0.0.1"], "hooks.example.org": ["127.0.0.1"]}
        assert self.addresses("http://localhost:9000/") == ["127.0.0.1"]
        with pytest.raises(TargetNotAllowed):
            self.addresses("https://hooks.example.org/")

    def test_unknown_host_name_is_refused(self, lead: dict[str, list[str]]) -> None:
        with pytest.raises(TargetNotAllowed, match="could not be resolved"):
            self.addresses("https://hooks.example.org/")


class TestSetting:
    @pytest.mark.parametrize("given", ["hooks.example.org", "A.example:8443 , 10.0.0.0/8, [::1]:9000,::1"])
    def test_webhook_hosts_setting_lists_hosts_and_networks(
        self, given: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COGNIREVIEW_WEBHOOK_HOSTS", given)
        assert entries(environment.read().webhook_hosts) == [
            each.strip().lower() for each in given.split(",")
        ]

    @pytest.mark.parametrize(
        "given", ["https://hooks.example.org", "*.example.org", "a b", "a,,b", "10.0.0.1/8"]
    )
    def test_webhook_hosts_setting_names_an_invalid_value(
        self, given: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COGNIREVIEW_WEBHOOK_HOSTS", given)
        with pytest.raises(ImproperlyConfigured, match=r"WEBHOOK_HOSTS: got .* takes host, host:port"):
            environment.read()
