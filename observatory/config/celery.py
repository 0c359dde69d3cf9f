"""The Celery application. Tasks are in each room's tasks.py."""

from __future__ import annotations

import os

from celery import Celery
from celery.signals import setup_logging

from observatory.config.logging.setup import set_up_celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "observatory.config.settings")
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")  # they import the pages
setup_logging.connect(set_up_celery)
app = Celery("observatory")
app.set_default()  # else threads that asked for a task before this was loaded keep an app without our broker
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.autodiscover_tasks(["observatory.alerts.notifying"])
