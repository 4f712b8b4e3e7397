"""Django's settings. Importing them starts nothing.

`environment.py` defines the settings that operators can change.
"""

import os
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from csp.constants import NONE, SELF
from psycopg.conninfo import conninfo_to_dict

from cognireview import environment
from cognireview.operations.logs import drop_refusal_traceback, is_not_outage_response
from cognireview.operations.secret_key import read_or_create
from cognireview.postgres import embedded
from cognireview.setting_values import entries, split_old_keys
from reviews.records.schema import Limits

# NumPy reads it when it is imported. Matrices of figures are small: more threads only wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

ENVIRONMENT = environment.read()
BASE_DIR = environment.BASE_DIR
FILES_DIR = environment.FILES_DIR
DATA_DIR: Path = ENVIRONMENT.data_dir
PUBLIC_URL = ENVIRONMENT.public_url

DEBUG = ENVIRONMENT.debug
SECRET_KEY = (
    ENVIRONMENT.secret_key.value
    if ENVIRONMENT.secret_key
    else read_or_create(
        DATA_DIR / "secret_key", None if ENVIRONMENT.database_url else embedded.cluster_dir(DATA_DIR)
    )
)
SECRET_KEY_FALLBACKS = split_old_keys(ENVIRONMENT.old_secret_keys)
ALLOWED_HOSTS = ENVIRONMENT.allowed_hosts

INSTALLED_APPS = [
    # First, so that our commands override Django's commands of the same name.
    "reviews",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "cognireview.web.static_files.StaticFiles",
    "django.contrib.humanize",
    "django_htmx",
    "csp",
    "procrastinate.contrib.django",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.usersessions",
]

EVERY_MIDDLEWARE = [
    "cognireview.web.headers.HeadersMiddleware",
    "cognireview.web.headers.PolicyMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "reviews.http.hosts.HostMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "reviews.http.health.HealthMiddleware",
    "reviews.views.site.metrics.MetricsMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "cognireview.web.compression.PageCompressionMiddleware",
    "cognireview.operations.logs.RequestMiddleware",
    "reviews.http.client_address.ClientAddressMiddleware",
    "reviews.views.site.metrics.CountingMiddleware",
    "reviews.api.problems.ProblemMiddleware",
    "reviews.api.rate_limits.RateLimitMiddleware",
    "reviews.http.errors.OutageMiddleware",
    "reviews.http.complete_bodies.CompleteBodyMiddleware",
    "reviews.http.errors.Utf8Middleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "reviews.accounts.authentication.PersonMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "reviews.http.activity.ActivityMiddleware",
    "reviews.http.login.LoginMiddleware",
    "reviews.http.login.RequiredFactorMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "reviews.http.errors.ErrorPageMiddleware",
]
# Their module needs a library of 5 MiB, and a folder for the counters of all web processes.
METRICS_MIDDLEWARE = {name for name in EVERY_MIDDLEWARE if name.startswith("reviews.views.site.metrics.")}
METRICS_TOKEN = ENVIRONMENT.metrics_token.value
MIDDLEWARE = [name for name in EVERY_MIDDLEWARE if METRICS_TOKEN or name not in METRICS_MIDDLEWARE]

ROOT_URLCONF = "cognireview.urls"
WSGI_APPLICATION = "cognireview.wsgi.application"
_LOADERS = [
    "django.template.loaders.filesystem.Loader",
    "django.template.loaders.app_directories.Loader",
]
TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [FILES_DIR / "templates"],
        "OPTIONS": {
            # Not an installed app: it would import Django's admin.
            "libraries": {"partials": "template_partials.templatetags.partials"},
            "builtins": ["reviews.templatetags.addresses"],
            "loaders": [
                ("template_partials.loader.Loader", [("django.template.loaders.cached.Loader", _LOADERS)])
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]


# If a host is lost, time out early: another one is tried, or the replica is avoided.
_TIMEOUTS = {
    "connect_timeout": "2",
    "tcp_user_timeout": "10000",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
}


def _server(url: str, *, has_another: bool = False) -> dict[str, Any]:
    """Convert a PostgreSQL URL to Django's settings. Parameters after `?` become connection options."""
    parts = conninfo_to_dict(url)
    if has_another or "," in str(parts.get("host")):
        parts = {**_TIMEOUTS, **parts}
    return {
        "NAME": parts.pop("dbname", ""),
        "USER": parts.pop("user", ""),
        "PASSWORD": parts.pop("password", ENVIRONMENT.database_password.value),
        "HOST": parts.pop("host", ""),
        "PORT": parts.pop("port", ""),
        "OPTIONS": parts,
    }


DATABASES: dict[str, dict[str, Any]] = {
    "default": {
        "ENGINE": "cognireview.postgres.backend",
        "CONN_HEALTH_CHECKS": True,
        **(
            _server(ENVIRONMENT.database_url)
            if ENVIRONMENT.database_url
            else embedded.connection_settings(DATA_DIR)
        ),
    }
}
if ENVIRONMENT.database_replica_url:
    DATABASES["replica"] = {
        "ENGINE": "cognireview.postgres.backend",
        # Tests use the same database.
        "TEST": {"MIRROR": "default"},
        **_server(ENVIRONMENT.database_replica_url, has_another=True),
    }
WEB_ROLE = ENVIRONMENT.web_role
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_USER_MODEL = "reviews.User"
AUTHENTICATION_BACKENDS = ["reviews.accounts.authentication.RoleBackend"]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "runs"
LOGOUT_REDIRECT_URL = "login"
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]

# allauth handles logins, second factors and sessions. Only `reviews.accounts.people` creates accounts.
ACCOUNT_ADAPTER = "reviews.accounts.adapters.AccountAdapter"
ACCOUNT_FORMS = {"login": "reviews.views.accounts.account.LoginForm"}
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_REAUTHENTICATION_TIMEOUT = 15 * 60
# Failed logins per address and per username. A whole office may share one address.
ACCOUNT_RATE_LIMITS = {"login": "300/m/ip", "login_failed": "30/m/ip,5/300s/key"}
MFA_RATE_LIMITS = {"webauthn_login": "300/m/ip"}
ALLAUTH_TRUSTED_PROXY_COUNT = 1 if ENVIRONMENT.trust_proxy else 0
MFA_FORMS = {
    "authenticate": "reviews.views.accounts.second_factor.CodeForm",
    "reauthenticate": "reviews.views.accounts.second_factor.CodeAgainForm",
}
MFA_ADAPTER = "reviews.accounts.adapters.SecondFactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_PASSKEY_LOGIN_ENABLED = True
MFA_TOTP_ISSUER = "CogniReview"
MFA_TOTP_TOLERANCE = 1
# Over http, browsers allow passkeys on localhost only.
MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = not ENVIRONMENT.https
SOCIALACCOUNT_ADAPTER = "reviews.accounts.adapters.ProviderAdapter"
SOCIALACCOUNT_PROVIDERS = {
    "openid_connect": {
        "OAUTH_PKCE_ENABLED": True,
        "SCOPE": ENVIRONMENT.oidc_scopes.split(),
        "APPS": ENVIRONMENT.oidc_apps,
    }
}
OIDC_ISSUER = ENVIRONMENT.oidc_issuer
OIDC_NAME = ENVIRONMENT.oidc_name
OIDC_GROUP_CLAIM = ENVIRONMENT.oidc_group_claim
OIDC_ROLES = ENVIRONMENT.roles_of_groups
SECOND_FACTOR_ROLES = entries(ENVIRONMENT.second_factor_roles)
INVITATION_LENGTH = timedelta(days=7)
PASSWORD_LINK_LENGTH = timedelta(days=1)

# Shared by all web processes, such as counts of failed logins. A migration creates the table.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "cache",
        "OPTIONS": {"MAX_ENTRIES": 100_000},
    }
}

_MAIL_SERVER = urlsplit(ENVIRONMENT.mail_url.value)
SENDS_MAIL = bool(_MAIL_SERVER.hostname)
EMAIL_BACKEND = f"django.core.mail.backends.{'smtp' if SENDS_MAIL else 'dummy'}.EmailBackend"
EMAIL_HOST = _MAIL_SERVER.hostname or ""
EMAIL_PORT = _MAIL_SERVER.port or (465 if _MAIL_SERVER.scheme == "smtps" else 587)
EMAIL_HOST_USER = unquote(_MAIL_SERVER.username or "")
EMAIL_HOST_PASSWORD = unquote(_MAIL_SERVER.password or "")
EMAIL_USE_SSL = _MAIL_SERVER.scheme == "smtps"
# Passwords are sent over encrypted connections only.
EMAIL_USE_TLS = not EMAIL_USE_SSL and bool(EMAIL_HOST_PASSWORD)
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = ENVIRONMENT.mail_from

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_I18N = False
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = DATA_DIR / "static"
STATICFILES_DIRS = [FILES_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "cognireview.web.static_files.HashedStaticFiles"},
}
FILE_UPLOAD_TEMP_DIR = None
# A rubric of 100 criteria and 20 causes has 2,200 fields.
DATA_UPLOAD_MAX_NUMBER_FIELDS = 3000
DATA_UPLOAD_MAX_MEMORY_SIZE = 32 * 1024**2

SESSION_ENGINE = "reviews.accounts.session_store"
SESSION_IDLE_LENGTH = timedelta(minutes=ENVIRONMENT.session_idle_minutes)
SESSION_MAX_LENGTH = timedelta(hours=ENVIRONMENT.session_max_hours)
# The browser keeps the cookie for the maximum length of a session.
SESSION_COOKIE_AGE = int(SESSION_MAX_LENGTH.total_seconds())
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = ENVIRONMENT.https
# With this prefix, browsers accept the cookie over https and from this host only, not from its domain.
_COOKIE_PREFIX = "__Host-" if ENVIRONMENT.https else ""
SESSION_COOKIE_NAME = f"{_COOKIE_PREFIX}sessionid"
CSRF_COOKIE_NAME = f"{_COOKIE_PREFIX}csrftoken"
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "reviews.http.errors.csrf_failure"
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]
SECURE_SSL_REDIRECT = ENVIRONMENT.https
SECURE_REDIRECT_EXEMPT = [r"^(healthz|readyz|metrics)$"]  # probes use any scheme
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if ENVIRONMENT.https else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = SECURE_HSTS_PRELOAD = ENVIRONMENT.https
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if ENVIRONMENT.trust_proxy else None
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "text": {
            "()": "cognireview.operations.logs.TextFormatter",
            "fmt": "{asctime} {levelname} {name}: {message}",
            "style": "{",
        },
        "json": {"()": "cognireview.operations.logs.JsonFormatter"},
    },
    "filters": {
        "news": {"()": lambda: is_not_outage_response},
        "refusals": {"()": lambda: drop_refusal_traceback},
    },
    "handlers": {
        "stderr": {
            "class": "logging.StreamHandler",
            "formatter": ENVIRONMENT.log_format,
            "filters": ["refusals"],
        }
    },
    "root": {"handlers": ["stderr"], "level": ENVIRONMENT.log_level},
    "loggers": {
        "django.request": {"level": "ERROR", "filters": ["news"]},
        # These log the found tasks in every process.
        "procrastinate.blueprints": {"level": "WARNING"},
        "procrastinate.periodic": {"level": "WARNING"},
    },
}

LIMITS = Limits(
    line_bytes=ENVIRONMENT.max_line_bytes,
    id_bytes=ENVIRONMENT.max_id_bytes,
    nesting=ENVIRONMENT.max_nesting,
)
MAX_UPLOAD_BYTES = ENVIRONMENT.max_upload_bytes
MAX_UNPACKED_BYTES = ENVIRONMENT.max_unpacked_bytes
MAX_REJECTED_LINES = ENVIRONMENT.max_rejected_lines
MAX_OPEN_UPLOADS = ENVIRONMENT.max_open_uploads
MAX_OPEN_UPLOADS_OVERALL = ENVIRONMENT.max_open_uploads_overall
MAX_OPEN_UPLOAD_BYTES = ENVIRONMENT.max_open_upload_bytes
MAX_OPEN_UPLOAD_BYTES_OVERALL = ENVIRONMENT.max_open_upload_bytes_overall
API_RATE = ENVIRONMENT.api_rate
API_RATE_PER_ADDRESS = ENVIRONMENT.api_rate_per_address
STALLED_WORKER_SECONDS = ENVIRONMENT.stalled_worker_seconds
# Imported when a worker starts or a job is enqueued.
PROCRASTINATE_AUTODISCOVER_MODULE_NAME = None
PROCRASTINATE_IMPORT_PATHS = ["reviews.tasks"]
PROCRASTINATE_WORKER_DEFAULTS = {
    "update_heartbeat_interval": STALLED_WORKER_SECONDS / 3,
    "stalled_worker_timeout": float(STALLED_WORKER_SECONDS),
    # So an export need wait neither for an import nor for slow receivers of webhooks, which occupy two jobs.
    "concurrency": 4,
    # Audit events record the result.
    "delete_jobs": "successful",
}
if ENVIRONMENT.transaction_pooler:
    # LISTEN needs a session, so workers poll for jobs.
    PROCRASTINATE_WORKER_DEFAULTS |= {"listen_notify": False, "fetch_job_polling_interval": 1.0}
# Retention of temporary data: see `reviews.maintenance.retention`.
KEEP_EXPORTS = timedelta(hours=ENVIRONMENT.keep_exports_hours)
KEEP_UPLOADS = timedelta(hours=ENVIRONMENT.keep_uploads_hours)
KEEP_MESSAGES = timedelta(days=ENVIRONMENT.keep_messages_days)
KEEP_JOBS = timedelta(days=ENVIRONMENT.keep_jobs_days)
KEEP_SESSIONS = timedelta(days=ENVIRONMENT.keep_sessions_days)
KEEP_LINKS = timedelta(days=ENVIRONMENT.keep_links_days)
CLAIM_LENGTH = timedelta(minutes=ENVIRONMENT.claim_minutes)
BLIND_SHARE = ENVIRONMENT.blind_share
RESTRICT_NEW_RUNS = ENVIRONMENT.restrict_new_runs
WEBHOOK_HOSTS = entries(ENVIRONMENT.webhook_hosts)
