"""The log of a PostgreSQL server that is not embedded may hold statements and rows: contents of records."""

from django.db.backends.base.base import BaseDatabaseWrapper

# Only a superuser may set the first three. The embedded server sets the same values.
_WANTED = {
    "log_min_error_statement": ("panic",),
    "log_error_verbosity": ("terse",),
    "log_statement": ("none", "ddl"),
    "log_parameter_max_length_on_error": ("0",),
}


def log_privacy_warning(database: BaseDatabaseWrapper) -> str:
    """Return a sentence about settings that let contents into the server's log, or nothing."""
    with database.cursor() as cursor:
        cursor.execute(
            "SELECT name, setting FROM pg_settings WHERE name = ANY(%s) ORDER BY name", [list(_WANTED)]
        )
        wrong = [f"{name} is {value}" for name, value in cursor.fetchall() if value not in _WANTED[name]]
    if not wrong:
        return ""
    return (
        f"PostgreSQL's log may hold contents of records ({', '.join(wrong)}). "
        'See "Logs" in docs/operations.md for what a superuser sets.'
    )
