"""A PostgreSQL cluster for tests: two servers that Debian's Patroni manages, with etcd, all on 127.0.0.1.

Patroni, etcd and PostgreSQL come from Debian's packages patroni, python3-etcd, etcd-server and postgresql.
"""

import json
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import psutil
import psycopg

from cognireview.postgres.server_account import ServerAccount, server_account
from tests.support.processes import Process, running
from tests.support.waiting import eventually, free_port

HOST, NAME = "127.0.0.1", "cognireview"
# A lost machine loses the lock after this time. Patroni 3.1 and later take at least 20 s.
SECONDS_OF_A_LOCK = 10
SECONDS_TO_START = 120
_NEEDED = ("/usr/bin/patroni", "/usr/bin/etcd")
_DYNAMIC = {
    "ttl": SECONDS_OF_A_LOCK,
    "loop_wait": 2,
    "retry_timeout": 3,
    # A commit waits for the standby, and only that standby can become the primary.
    "synchronous_mode": True,
    # A crashed primary is replaced, and not restarted.
    "primary_start_timeout": 0,
    "postgresql": {
        "use_pg_rewind": True,
        "parameters": {"max_connections": 100, "wal_log_hints": "on", "wal_receiver_timeout": "5s"},
    },
}


@dataclass
class Node:
    """A machine of the cluster: Patroni and its PostgreSQL."""

    folder: Path
    port: int
    api_port: int
    etcd_port: int
    account: ServerAccount
    _running: ExitStack
    patroni: Process | None = None

    @property
    def name(self) -> str:
        return self.folder.name

    def start(self) -> None:
        """Start Patroni, which starts PostgreSQL."""
        file = self.folder / "patroni.json"
        file.write_text(json.dumps(self._configuration()))
        command = ["/usr/bin/patroni", str(file)]
        log = self.folder / "patroni.log"
        options: dict[str, Any] = {**self.account.subprocess_options, "cwd": self.folder}
        self.patroni = self._running.enter_context(running(command, log, **options))

    def roles(self) -> dict[str, str]:
        """Return the roles of the running nodes as this node's Patroni reports them; empty if it is down."""
        with (
            suppress(OSError, ValueError),
            urlopen(f"http://{HOST}:{self.api_port}/cluster", timeout=2) as answer,
        ):
            members = json.load(answer)["members"]
            return {one["name"]: one["role"] for one in members if one["state"] in {"running", "streaming"}}
        return {}

    def is_primary(self) -> bool:
        return self.roles().get(self.name) == "leader"

    def kill(self, *, with_patroni: bool) -> None:
        """Kill all processes of PostgreSQL, and before that Patroni if the whole machine is lost."""
        if with_patroni and self.patroni:
            self.patroni.signal(signal.SIGKILL)
            self.patroni.popen.wait()
        for process in self._postgres():
            with suppress(psutil.NoSuchProcess):
                process.kill()

    def start_again(self) -> None:
        """Start a lost machine again."""
        if self.patroni and not self.patroni.is_running:
            self.start()

    def _postgres(self) -> list[psutil.Process]:
        with suppress(OSError, ValueError, IndexError, psutil.NoSuchProcess):
            first = psutil.Process(int((self._data / "postmaster.pid").read_text().split()[0]))
            return [first, *first.children(recursive=True)]
        return []

    @property
    def _data(self) -> Path:
        return self.folder / "postgres"

    def _configuration(self) -> dict[str, Any]:
        account = {"username": NAME}
        return {
            "scope": NAME,
            "name": self.name,
            "restapi": {"listen": f"{HOST}:{self.api_port}", "connect_address": f"{HOST}:{self.api_port}"},
            "etcd3": {"host": f"{HOST}:{self.etcd_port}"},
            "bootstrap": {
                "dcs": _DYNAMIC,
                "initdb": [{"encoding": "UTF8"}, {"locale": "C.UTF-8"}],
            },
            "postgresql": {
                "listen": f"{HOST}:{self.port}",
                "connect_address": f"{HOST}:{self.port}",
                "data_dir": str(self._data),
                "bin_dir": str(bin_dir()),
                "pgpass": str(self.folder / "pgpass"),
                "authentication": {"superuser": account, "replication": account},
                "pg_hba": [
                    "local all all trust",
                    f"host all all {HOST}/32 trust",
                    f"host replication all {HOST}/32 trust",
                ],
                "basebackup": [{"checkpoint": "fast"}],
                "parameters": {"unix_socket_directories": str(self.folder)},
            },
        }


class Cluster:
    """Two nodes, of which one is the primary."""

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes

    @property
    def url(self) -> str:
        """Return a `DATABASE_URL` that leads to the node that is the primary."""
        return self._url("read-write")

    @property
    def replica_url(self) -> str:
        """Return a `DATABASE_REPLICA_URL` that leads to the node that is the standby."""
        return self._url("standby")

    def primary(self) -> Node | None:
        """Return the primary if the other node is its synchronous standby."""
        return next((node for node in self.nodes if self._leads(node, "sync_standby")), None)

    def wait_until_complete(self) -> None:
        assert eventually(self.primary, within=SECONDS_TO_START), self.logs()

    def logs(self) -> str:
        """Return the end of each node's log."""
        return "\n".join(
            f"{node.name}:\n{(node.folder / 'patroni.log').read_text()[-3000:]}" for node in self.nodes
        )

    def _leads(self, node: Node, role: str) -> bool:
        """Return whether a node is the primary, and each other node has this role."""
        roles = node.roles()
        return roles.pop(node.name, "") == "leader" and set(roles.values()) == {role}

    def _url(self, wanted: str) -> str:
        places = ",".join(f"{HOST}:{node.port}" for node in self.nodes)
        return f"postgresql://{NAME}@{places}/{NAME}?target_session_attrs={wanted}"


def missing() -> list[str]:
    """Return the programs that are not installed."""
    return [name for name in _NEEDED if not Path(name).exists()] + (
        []
        if any(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
        else ["/usr/lib/postgresql/*/bin/postgres"]
    )


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """Run etcd and two nodes below `folder`, with an empty database."""
    account, etcd_port, peer_port = server_account(), free_port(), free_port()
    account.grant_traversal(folder)
    with ExitStack() as running_all:
        peer, client = f"http://{HOST}:{peer_port}", f"http://{HOST}:{etcd_port}"
        command = [
            "/usr/bin/etcd",
            "--data-dir",
            str(_folder(folder / "etcd", account) / "data"),
            "--listen-client-urls",
            client,
            "--advertise-client-urls",
            client,
            "--listen-peer-urls",
            peer,
            "--initial-advertise-peer-urls",
            peer,
            "--initial-cluster",
            f"default={peer}",
        ]
        options: dict[str, Any] = {**account.subprocess_options, "cwd": folder / "etcd"}
        running_all.enter_context(running(command, folder / "etcd.log", **options))
        nodes = [
            Node(
                _folder(folder / f"node{n}", account),
                free_port(),
                free_port(),
                etcd_port,
                account,
                running_all,
            )
            for n in range(2)
        ]
        found = Cluster(nodes)
        nodes[0].start()
        assert eventually(nodes[0].roles, within=SECONDS_TO_START), found.logs()
        with psycopg.connect(nodes_url(nodes[0]), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {NAME}".encode())
        nodes[1].start()
        found.wait_until_complete()
        yield found


def nodes_url(node: Node) -> str:
    return f"postgresql://{NAME}@{HOST}:{node.port}/postgres"


def _folder(path: Path, account: ServerAccount) -> Path:
    path.mkdir(mode=0o700)
    account.chown(path)
    return path


def bin_dir() -> Path:
    """Return the folder of Debian's newest PostgreSQL."""
    return max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
