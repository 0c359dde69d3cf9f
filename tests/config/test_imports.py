"""What each process imports: large libraries only where they are used, as every process would hold them."""

from __future__ import annotations

import subprocess
import sys

import pytest

LARGE = "{'pyarrow', 'scipy', 'ruptures', 'plotly', 'apprise', 'dask', 'distributed', 'tornado', 'PIL'}"
MODELS = "{name for name in sys.modules if name.startswith('observatory.') and name.endswith('.models')}"


def printed(code: str) -> str:
    """What a fresh process prints."""
    command = [sys.executable, "-c", f"import sys\n{code}"]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout.strip()


@pytest.mark.parametrize(
    "process",
    [
        "import observatory.config.asgi\nfrom django.urls import get_resolver\nget_resolver().url_patterns",
        "from observatory.config.celery import app\napp.loader.import_default_modules()",
        "import django\ndjango.setup()\nimport observatory.collect.management.commands.collect",
    ],
    ids=["web", "worker", "collector"],
)
def test_no_process_imports_libraries_that_few_actions_need(process: str) -> None:
    assert printed(f"{process}\nprint({LARGE} & set(sys.modules))") == "set()"


def test_beat_imports_no_models_and_knows_its_schedule_and_its_own_task() -> None:
    code = "from observatory.config.celery_beat import app\napp.loader.import_default_modules()\n"
    assert printed(f"{code}print({MODELS})") == "set()"
    assert printed(f"{code}print('observatory.runtime.tasks.beat' in app.tasks)") == "True"
    scheduled = "print(len(app.conf.beat_schedule) > 5, app.conf.broker_url)"
    of_all = "from observatory.config.celery import app\n"
    assert printed(f"{code}{scheduled}") == printed(f"{of_all}{scheduled}") != ""
