"""Warn if an external PostgreSQL server may log record contents."""

from django.db.backends.base.base import BaseDatabaseWrapper

# Only a superuser may set the first three. The embedded server sets the same values.
_WANTED = {
    "log_min_error_statement": ("panic",),
    "log_error_verbosity": ("terse",),
    "log_statement": ("none", "ddl"),
    "log_parameter_max_length_on_error": ("0",),
}


def log_privacy_warning(database: BaseDatabaseWrapper) -> str:
    """Return a warning about settings that let the server log record contents, or an empty text."""
    with database.cursor() as cursor:
        cursor.execute(
            "SELECT name, setting FROM pg_settings WHERE name = ANY(%s) ORDER BY name", [list(_WANTED)]
        )
        wrong = [f"{name} is {value}" for name, value in cursor.fetchall() if value not in _WANTED[name]]
    if not wrong:
        return ""
    return (
        f"PostgreSQL may log record contents ({', '.join(wrong)}). "
        'See "Logs" in docs/operations.md for the settings that a superuser has to make.'
    )
