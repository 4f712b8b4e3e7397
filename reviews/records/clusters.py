"""The cluster of a record: intervals take records of one cluster as dependent."""

from hashlib import sha256

#: The number of clusters. Two tasks rarely share one.
CLUSTERS = 65_536


def task_cluster(task_id: str | None, evaluation_id: str) -> int:
    """Return the cluster of a record, from 0 to 65,535: computed from its task, or from its id without one.

    Equal to the SQL function of the same name (`ratings.sql`).
    """
    named = f"record:{evaluation_id}" if task_id is None else f"task:{task_id}"
    return int.from_bytes(sha256(named.encode()).digest()[:2])
