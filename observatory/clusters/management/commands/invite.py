from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse

from observatory.clusters.accounts import invitations
from observatory.clusters.accounts.invitation_form import InvitationForm
from observatory.clusters.accounts.models import Membership
from observatory.clusters.accounts.sign_in_links import SIGN_IN_URLS, first_administrator
from observatory.clusters.addresses.public_urls import without_script_prefix
from observatory.clusters.models import Project


class Command(BaseCommand):
    help = "Makes an invitation to a project, and prints its link: it is shown this once."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", help="the project's short name, as in its address")
        parser.add_argument("base_url", help="where a browser finds this Observatory: http://127.0.0.1:8000")
        parser.add_argument("--role", choices=Membership.Role.values, default=Membership.Role.VIEWER.value)
        parser.add_argument("--note", default="", help="whom it is for")
        parser.add_argument("--days", type=int, default=invitations.DAYS, help="until it expires")
        parser.add_argument("--uses", type=int, default=1, help="how many people can join with it")

    def handle(self, project: str, base_url: str, **options: Any) -> None:
        found = Project.objects.filter(slug=project, is_own=False).first()
        if found is None:
            known = ", ".join(Project.objects.filter(is_own=False).values_list("slug", flat=True))
            raise CommandError(f"there is no project {project!r}; there are: {known or 'none'}")
        form = InvitationForm(found, options)
        if not form.is_valid():
            said = "; ".join(f"{name}: {' '.join(map(str, errors))}" for name, errors in form.errors.items())
            raise CommandError(said)
        _, token = form.make(first_administrator())
        path = without_script_prefix(reverse("join", SIGN_IN_URLS, args=[token]))
        self.stdout.write(base_url.rstrip("/") + path)
