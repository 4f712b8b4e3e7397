"""`python -m tests.growth.behind_pgbouncer [ARGUMENT ...]`: pytest, with PgBouncer before its PostgreSQL.

In transaction mode; each process of pytest has a server of its own. The exit status is that of pytest.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from cognireview.environment import BASE_DIR
from cognireview.postgres import embedded
from tests.support import servers

# Tests hold two connections and more at once, to wait for each other.
POOL_SIZE = 8


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="cognireview-growth-") as name:
        folder = Path(name)
        with embedded.running(folder, disposable=True):
            direct = servers.Place.of(embedded.connection_settings(folder))
            with servers.pgbouncer(direct, folder, pool_size=POOL_SIZE) as pooled:
                told = {"DATABASE_URL": pooled.url, "COGNIREVIEW_TRANSACTION_POOLER": "true"}
                # Its connections stay open: the test database cannot be dropped, and goes with the folder.
                options = ["--numprocesses=0", "--create-db", "--reuse-db"]
                command = [sys.executable, "-m", "pytest", *options, *sys.argv[1:]]
                return subprocess.run(command, cwd=BASE_DIR, env=os.environ | told, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
