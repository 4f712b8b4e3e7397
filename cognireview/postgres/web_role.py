"""Grant privileges to the role of web servers and workers, which owns no tables."""

from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from psycopg import sql

# Whether the role migrates, and whether it can act as the owner, which would make the grants pointless.
_IS_OWNER = """
    SELECT rolname = current_user, rolsuper OR pg_has_role(rolname, current_user, 'MEMBER')
    FROM pg_roles WHERE rolname = %s
"""
# The role reads and writes rows, but cannot create, alter, truncate or drop. It can only insert reviews and
# audit events, and only read seals. Functions of the owner write seals, and delete runs (`run_deletion.sql`).
# It cannot change the ratings of gold sets.
_GRANTS = """
    GRANT USAGE ON SCHEMA public TO {role};
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role};
    GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {role};
    REVOKE UPDATE, DELETE ON audit_event, review, withdrawal, blind_scores, reveal FROM {role};
    REVOKE UPDATE ON gold_rating FROM {role};
    REVOKE INSERT, UPDATE, DELETE ON audit_seal, django_migrations FROM {role};
    GRANT EXECUTE ON FUNCTION delete_run_records(bigint, int), delete_run(bigint) TO {role};
"""


def grant_privileges(using: str, **_: Any) -> None:
    """Grant `settings.WEB_ROLE` its privileges, if it is set (a `post_migrate` receiver).

    Raises `ImproperlyConfigured` if the role does not exist or can act as the owner.
    """
    role = settings.WEB_ROLE
    if not role:
        return
    with connections[using].cursor() as cursor:
        cursor.execute(_IS_OWNER, [role])
        found = cursor.fetchone()
        if found is None:
            raise ImproperlyConfigured(f"COGNIREVIEW_WEB_ROLE: PostgreSQL has no role {role!r}. Create it.")
        is_migrating, can_act_as_owner = found
        if is_migrating:
            raise ImproperlyConfigured(
                f"COGNIREVIEW_WEB_ROLE: DATABASE_URL has {role!r}, the role of web servers and workers. "
                "Migrate with the role that owns the tables."
            )
        if can_act_as_owner:
            raise ImproperlyConfigured(
                f"COGNIREVIEW_WEB_ROLE: {role!r} can act as the owner of the tables. Migrate as another role."
            )
        cursor.execute(sql.SQL(_GRANTS).format(role=sql.Identifier(role)))
