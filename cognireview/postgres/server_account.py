"""Choose the account that runs the embedded PostgreSQL, which refuses to run as root."""

import logging
import os
import pwd
import stat
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

log = logging.getLogger(__name__)

NAME = "cognireview"


class NoServerAccount(Exception):
    """The account does not exist and could not be created. The message says what to do."""


class _AsAccount(TypedDict, total=False):
    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True)
class ServerAccount:
    """The account of the server: our own, or a system account if we are root."""

    uid: int
    gid: int
    is_ours: bool

    @property
    def subprocess_options(self) -> _AsAccount:
        """Arguments for `subprocess.run` that start a program as this account."""
        return {} if self.is_ours else {"user": self.uid, "group": self.gid, "extra_groups": []}

    def chown(self, path: Path) -> None:
        if not self.is_ours:
            os.chown(path, self.uid, self.gid)

    def grant_traversal(self, folder: Path) -> None:
        """Let the account traverse, but not list, the folders above `folder`, which may be below `/root`."""
        if self.is_ours:
            return
        for parent in [folder, *folder.parents]:
            mode = stat.S_IMODE(parent.stat().st_mode)
            if not mode & stat.S_IXOTH:
                log.warning(
                    "Made %s traversable for others, because PostgreSQL runs as the user %s.", parent, NAME
                )
                parent.chmod(mode | stat.S_IXOTH)

    def grant_execution(self, installation: Path) -> None:
        """Let the account run the programs, even if they were installed with a strict umask."""
        self.grant_traversal(installation.parent)
        if self.is_ours or (installation / "bin" / "postgres").stat().st_mode & stat.S_IXOTH:
            return
        package = installation.parent
        # The second folder contains the shared libraries of the wheel.
        for folder in (installation, package.with_name(f"{package.name}.libs")):
            for path in [folder, *folder.rglob("*")]:
                if not path.is_symlink():
                    mode = stat.S_IMODE(path.stat().st_mode)
                    path.chmod(mode | (mode & 0o500) >> 6)


def server_account() -> ServerAccount:
    """Return the account. Create it if root has none yet. Raises `NoServerAccount`."""
    if os.geteuid() != 0:
        return ServerAccount(os.geteuid(), os.getegid(), is_ours=True)
    entry = _find_entry() or _create_entry()
    return ServerAccount(entry.pw_uid, entry.pw_gid, is_ours=False)


def _find_entry() -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(NAME)
    except KeyError:
        return None


def _create_entry() -> pwd.struct_passwd:
    command = ["useradd", "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"]
    with suppress(FileNotFoundError):
        subprocess.run([*command, NAME], capture_output=True, check=False)
    # Ignores the result of useradd: another process may have created the account.
    if entry := _find_entry():
        return entry
    raise NoServerAccount(
        f"PostgreSQL does not run as root, and the system user {NAME!r} could not be created: "
        "start as an ordinary user, or create that user with useradd."
    )
