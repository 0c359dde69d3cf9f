"""Every setting, read from the environment. docs/settings.md lists the variables; a test compares."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from observatory.base.environment import (
    PACKAGE_DIR,
    archive,
    archive_removes_rows_after,
    boolean,
    choice,
    data_dir,
    database,
    discovery_dir,
    frontend_dir,
    groups_header,
    networks,
    number,
    origins,
    project_export_rate,
    project_ingest_rate,
    project_link_rate,
    project_quota_gib,
    public_url,
    run_dir,
    scan_scheduler,
    scim_token,
    secret_key,
    session_database,
    sign_in_header,
    text,
    trace_url,
    words,
)
from observatory.base.redis_server import redis_server
from observatory.base.sign_in.oidc import oidc
from observatory.base.sign_in.saml import saml
from observatory.base.static.version import is_collected, static_version
from observatory.config.administration import UNFOLD as UNFOLD
from observatory.config.celery_schedule import CELERY_BEAT_SCHEDULE as CELERY_BEAT_SCHEDULE
from observatory.config.logging.setup import start_error_reports
from observatory.store.blocks.live_frames import CHANNEL_PREFIX

DATA_DIR = data_dir()

FRONTEND_DIR = frontend_dir()

_known_key = secret_key(DATA_DIR)
SECRET_KEY = _known_key or secrets.token_urlsafe(50)
SECRET_KEY_IS_NEW = _known_key is None
"""made for this process: nothing was signed or encrypted with it"""
DEBUG = boolean("OBSERVATORY_DEBUG", False)
PUBLIC_URL = public_url()
SUB_PATH = urlsplit(PUBLIC_URL).path
"""such as "/dask"; "" for a site of its own"""
FORCE_SCRIPT_NAME = SUB_PATH or None
ALLOWED_HOSTS = words("OBSERVATORY_ALLOWED_HOSTS", "localhost 127.0.0.1 [::1]")
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL.removesuffix(SUB_PATH)] if PUBLIC_URL else []
HTTPS = PUBLIC_URL.startswith("https://")
TRUSTED_PROXIES = networks("OBSERVATORY_TRUSTED_PROXIES")
SIGN_IN_HEADER = sign_in_header(TRUSTED_PROXIES)
FRAME_ANCESTORS = origins("OBSERVATORY_FRAME_ANCESTORS")
"""origins whose pages may show this site in frames"""
TRACE_URL = trace_url()
"""where traces are shown: {trace} stands for the id"""
GROUPS_HEADER = groups_header(SIGN_IN_HEADER)

INSTALLED_APPS = [
    "unfold.apps.BasicAppConfig",  # before the admin, whose templates it replaces
    "observatory.config.administration.AdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "axes",
    "channels",
    "csp",
    "observatory.store",
    "observatory.clusters",
    "observatory.collect",
    "observatory.replay",
    "observatory.runs",
    "observatory.why",
    "observatory.alerts",
    "observatory.exchange",
    "observatory.pages",
    "observatory.runtime",
]

MIDDLEWARE = [
    "observatory.runtime.health.request_metrics.RequestMetricsMiddleware",
    "observatory.clusters.audit.request_actor.ActorMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "observatory.config.http.compression.JsonCompressionMiddleware",
    "observatory.pages.links.rate_limit.LinkRateLimitMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "observatory.pages.site.middleware.PrivatePagesMiddleware",
    "observatory.pages.site.middleware.RefuseNulMiddleware",
    "observatory.pages.site.middleware.SignInRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "observatory.pages.site.middleware.AdminPolicyMiddleware",
    "axes.middleware.AxesMiddleware",
]

OIDC = oidc()
SAML = saml(PUBLIC_URL)
SINGLE_SIGN_ON = [way for way in (OIDC, SAML) if way]
if SINGLE_SIGN_ON:
    # only then: they take time to start, and have tables of their own
    INSTALLED_APPS += ["allauth", "allauth.account", "allauth.socialaccount"]
    INSTALLED_APPS += [way.app for way in SINGLE_SIGN_ON]
    MIDDLEWARE.append("allauth.account.middleware.AccountMiddleware")
    SOCIALACCOUNT_PROVIDERS = {kind: apps for way in SINGLE_SIGN_ON for kind, apps in way.providers.items()}
    SOCIALACCOUNT_ADAPTER = "observatory.pages.accounts.single_sign_on.adapters.SignInAdapter"
    SOCIALACCOUNT_LOGIN_ON_GET = True  # the policy forbids forms whose answer leads to the issuer
    ACCOUNT_ADAPTER = "observatory.pages.accounts.single_sign_on.adapters.AccountAdapter"
    ACCOUNT_EMAIL_VERIFICATION = "none"
    ACCOUNT_DEFAULT_HTTP_PROTOCOL = "https" if HTTPS else "http"
SINGLE_SIGN_ON_HOURS = number("OBSERVATORY_SINGLE_SIGN_ON_HOURS", 24)
SINGLE_SIGN_ON_DAYS = number("OBSERVATORY_SINGLE_SIGN_ON_DAYS", 30)
PASSWORD_SIGN_IN = boolean("OBSERVATORY_PASSWORD_SIGN_IN", True)
# with a header, who made an account of somebody's name would share it with that person
INVITED_MAKE_ACCOUNTS = PASSWORD_SIGN_IN and not SIGN_IN_HEADER
if SIGN_IN_HEADER:
    after = MIDDLEWARE.index("django.contrib.auth.middleware.AuthenticationMiddleware") + 1
    MIDDLEWARE.insert(after, "observatory.pages.accounts.proxy_middleware.ProxySignInMiddleware")

ROOT_URLCONF = "observatory.config.urls"
ASGI_APPLICATION = "observatory.config.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [PACKAGE_DIR],  # a page's template is next to its view
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "observatory.pages.site.context.navigation",
            ],
            "builtins": ["observatory.pages.site.formatting"],
            "libraries": {
                subject: f"observatory.pages.{subject}.tags"
                for subject in ("alerts", "clusters", "comparison", "runs", "site", "usage")
            },
        },
    },
]

DATABASES: dict[str, dict[str, Any]] = {"default": database(DATA_DIR)}
DATABASE_SESSION = session_database()
DATABASE_DISK = None if text("DATABASE_URL", "") else DATA_DIR  # a folder of it; None: unknown
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"

REDIS = redis_server(f"unix://{run_dir(DATA_DIR)}/valkey.sock")
CACHES = {"default": REDIS.cache()}
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [REDIS.channel_host()], "prefix": CHANNEL_PREFIX},
    }
}
CELERY_BROKER_URL = REDIS.broker_url()
CELERY_BROKER_USE_SSL = REDIS.broker_certificates()
CELERY_BROKER_TRANSPORT_OPTIONS = REDIS.broker_options()
CELERY_RESULT_BACKEND = None
CELERY_TASK_IGNORE_RESULT = True
# `up` and Compose run a worker for alerts only, so that exports and tiles do not delay them
CELERY_TASK_QUEUES: dict[str, dict[str, Any]] = {"celery": {}, "alerts": {}}
CELERY_TASK_ROUTES = {
    "observatory.alerts.*": {"queue": "alerts"},
    "observatory.collect.tasks.watch_recording": {"queue": "alerts"},
    "observatory.runtime.tasks.record_own_metrics": {"queue": "alerts"},
}
# a file for beat's state, for the worker that runs it as a thread (observatory.runtime.beat_thread)
BEAT_SCHEDULE_FILE = ""
CELERY_BEAT_SCHEDULER = "observatory.runtime.spread_schedule:SpreadScheduler"

AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
    "observatory.alerts.web.owners.OwnersBackend",
]
if SIGN_IN_HEADER:
    AUTHENTICATION_BACKENDS.append("observatory.clusters.accounts.proxy_sign_in.ProxyBackend")
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "clusters"
LOGOUT_REDIRECT_URL = "sign-in"
PASSWORD_RESET_TIMEOUT = 3600  # seconds: lifetime of a one-time sign-in link
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = "observatory.clusters.accounts.sign_in_throttle.cool_off"
AXES_CLIENT_IP_CALLABLE = "observatory.clusters.accounts.sign_in_throttle.client_address"
AXES_ENABLE_ACCESS_FAILURE_LOG = True
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_LOCKOUT_TEMPLATE = "pages/accounts/locked.html"
AXES_RESET_ON_SUCCESS = True
AXES_SENSITIVE_PARAMETERS = ["username", "ip_address", "next"]  # links and invitations have tokens

CSRF_FAILURE_VIEW = "observatory.pages.site.errors.csrf_failure"
SESSION_COOKIE_PATH = CSRF_COOKIE_PATH = f"{SUB_PATH}/"
if SUB_PATH:
    # another application of this host may be Django with cookies for "/", which browsers send here, too
    SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "observatory_session", "observatory_csrf"
    MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"  # its cookie is for "/"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = True
# browsers send cookies to frames of other sites over HTTPS alone
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "None" if FRAME_ANCESTORS and HTTPS else "Lax"
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
X_FRAME_OPTIONS = "DENY"
if FRAME_ANCESTORS:
    MIDDLEWARE.remove("django.middleware.clickjacking.XFrameOptionsMiddleware")  # it knows no origins
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "form-action": ["'self'"],
        "base-uri": ["'none'"],
        "frame-ancestors": FRAME_ANCESTORS or ["'none'"],
    }
}
# What the admin's pages may do beside it, for staff: django-unfold writes its behaviour into its templates as
# expressions, which Alpine evaluates, and Alpine sets what they say of an element's style as an attribute.
# Plotly, which draws the back-test of an alert rule there, adds an empty <style>, filled by CSSOM, and one
# for its maps. The latter's hash belongs to this version of Plotly: with another version
# tests/pages/site/test_in_chromium.py fails.
EMPTY_STYLE = "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
PLOTLY_POLICY = {"style-src": [EMPTY_STYLE]}
ADMIN_POLICY = {
    "script-src": ["'unsafe-eval'"],
    "style-src": [
        EMPTY_STYLE,
        "'sha256-ji27qzEtxXZW+7dun6UwjHXJ18e6WAin1VvNtkzIE/o='",
    ],
    "style-src-attr": ["'unsafe-inline'"],
}

ARCHIVE = archive()
ARCHIVE_REMOVES_ROWS_AFTER = archive_removes_rows_after()
SCAN_SCHEDULER = scan_scheduler()
PROJECT_QUOTA_GIB = project_quota_gib()
PROJECT_INGEST_RATE = project_ingest_rate()
PROJECT_LINK_RATE = project_link_rate()
PROJECT_EXPORT_RATE = project_export_rate()
DISCOVERY_DIR = discovery_dir()
AUDIT_DAYS = number("OBSERVATORY_AUDIT_RETENTION_DAYS", 365)
IMPORT_LIMIT = number("OBSERVATORY_IMPORT_LIMIT_MIB", 2048) << 20
REQUEST_TIMEOUT = number("OBSERVATORY_REQUEST_TIMEOUT_SECONDS", 30)
LINK_REQUESTS = number("OBSERVATORY_LINK_REQUESTS_PER_MINUTE", 1200)
WORKER_PAGES = networks("OBSERVATORY_WORKER_PAGES")
LOCAL_CHANNELS = boolean("OBSERVATORY_LOCAL_CHANNELS", False)
METRICS_TOKEN = text("OBSERVATORY_METRICS_TOKEN", "")
SCIM_TOKEN = scim_token()

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False

STATIC_VERSION = static_version(FRONTEND_DIR)
STATIC_PATH = f"/static/{STATIC_VERSION}/"
STATIC_URL = SUB_PATH + STATIC_PATH
STATIC_ROOT = Path(text("OBSERVATORY_STATIC_ROOT", str(DATA_DIR / "static")))
STATICFILES_DIRS: list[Any] = [("frontend", FRONTEND_DIR)]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "observatory.pages.site.static.PlotlyFinder",
]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "observatory.pages.site.static.CompressedStorage"},
}
WHITENOISE_AUTOREFRESH = DEBUG
WHITENOISE_USE_FINDERS = DEBUG or not is_collected(STATIC_ROOT, STATIC_VERSION)
# with DEBUG, files may change while the server runs
WHITENOISE_IMMUTABLE_FILE_TEST = r"^$" if DEBUG else rf"^{STATIC_PATH}"
WHITENOISE_ALLOW_ALL_ORIGINS = False

LOG_LEVEL = choice("OBSERVATORY_LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR"))
LOGGING_CONFIG = "observatory.config.logging.setup.set_up"
LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "observatory.config.logging.format.Line",
            "format": "%(asctime)s %(levelname)s %(name)s: %(message)s",
        },
        "json": {"()": "observatory.config.logging.format.Json"},
    },
    "filters": {"outages": {"()": "observatory.config.logging.outages.OutageFilter"}},
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "formatter": choice("OBSERVATORY_LOG_FORMAT", "line", ("line", "json")),
            "level": LOG_LEVEL,
        },
        "nowhere": {"class": "logging.NullHandler"},
    },
    "root": {"handlers": ["console"], "level": LOG_LEVEL},
    "loggers": {
        "axes": {"level": "WARNING"},
        # they log secret addresses
        "apprise": {"handlers": ["nowhere"], "propagate": False},
        "urllib3": {"level": "INFO"},
        # some lines for each request
        "mcp": {"level": "WARNING"},
        # a line for each task
        "celery.app.trace": {"level": "WARNING", "filters": ["outages"]},
        "celery.beat": {"level": "WARNING"},
        "celery.worker.request": {"level": "WARNING"},
        "celery.worker.strategy": {"level": "WARNING"},
        # instead of the handlers that uvicorn gave them
        "uvicorn": {"handlers": [], "level": "INFO", "propagate": True},
        "uvicorn.access": {"handlers": [], "propagate": False},
    },
}

ERROR_REPORTS_DSN = text("OBSERVATORY_SENTRY_DSN", "")
if ERROR_REPORTS_DSN:
    start_error_reports(ERROR_REPORTS_DSN, text("OBSERVATORY_SENTRY_ENVIRONMENT", "production"))
