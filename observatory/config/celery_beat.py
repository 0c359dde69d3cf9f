"""The Celery application of beat, which sends tasks by name: it needs neither their code nor the models."""

from __future__ import annotations

import os

from celery import Celery
from celery.signals import setup_logging

from observatory.config.logging.setup import set_up_celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "observatory.config.settings")
# without Celery's fixup for Django, which would load all models
setup_logging.connect(set_up_celery)
app = Celery("observatory", fixups=())
app.config_from_object("observatory.config.settings", namespace="CELERY")
app.conf.imports = ("observatory.runtime.tasks",)
