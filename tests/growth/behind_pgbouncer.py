"""`python -m tests.growth.behind_pgbouncer [ARGUMENT ...]`: run pytest on PostgreSQL behind PgBouncer.

PgBouncer runs in transaction mode. The exit status is that of pytest.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from cognireview.environment import BASE_DIR
from cognireview.postgres import embedded
from tests.support import servers

# Some tests use several connections at once, one of which waits for another.
POOL_SIZE = 8


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="cognireview-growth-") as name:
        folder = Path(name)
        with embedded.running(folder, disposable=True):
            direct = servers.Place.from_settings(embedded.connection_settings(folder))
            with servers.pgbouncer(direct, folder, pool_size=POOL_SIZE) as pooled:
                variables = {"DATABASE_URL": pooled.url, "COGNIREVIEW_TRANSACTION_POOLER": "true"}
                # PgBouncer keeps connections open, so the test database cannot be dropped.
                options = ["--numprocesses=0", "--create-db", "--reuse-db"]
                command = [sys.executable, "-m", "pytest", *options, *sys.argv[1:]]
                return subprocess.run(
                    command, cwd=BASE_DIR, env=os.environ | variables, check=False
                ).returncode


if __name__ == "__main__":
    sys.exit(main())
