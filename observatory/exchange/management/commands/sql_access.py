"""`dask-observatory sql_access`: roles of PostgreSQL that read the views of one project."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import psycopg
from django.core.management.base import BaseCommand, CommandError, CommandParser

from observatory.clusters.audit.noting import Action, note
from observatory.clusters.models import Project
from observatory.store.connection import connect, session_parameters
from observatory.store.sql.roles import Access, make_role, remove_role, role_prefix, roles

ROLE = "role of SQL"


class Command(BaseCommand):
    help = (
        "Makes a role of PostgreSQL that reads the views of a project, and prints its address once; again: a "
        "new password. Without a project it lists the roles."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", nargs="?", help="the project's short name")
        parser.add_argument("--remove", action="store_true", help="remove the role, and end its sessions")

    def handle(self, *args: Any, project: str | None, remove: bool, **options: Any) -> None:
        try:
            with connect() as connection:
                if project is None:
                    self._list(connection)
                elif remove:
                    self._remove(connection, _find(project))
                else:
                    found = _find(project)
                    address = address_of(make_role(connection, found.pk))
                    note(Action.MAKE, ROLE, found.slug, found.pk, [found.pk])
                    self.stdout.write(address)
        except psycopg.errors.InsufficientPrivilege as error:
            raise CommandError(
                f"Observatory's user of the database may not do that: {_reason(error)}. "
                "Give it the attribute CREATEROLE."
            ) from None
        except psycopg.Error as error:
            raise CommandError(_reason(error)) from None

    def _list(self, connection: psycopg.Connection) -> None:
        names = {str(pk): slug for pk, slug in Project.objects.values_list("pk", "slug")}
        prefix = role_prefix(connection)
        for role in roles(connection):
            self.stdout.write(f"{role}: {names.get(role.removeprefix(prefix), 'a deleted project')}")

    def _remove(self, connection: psycopg.Connection, project: Project) -> None:
        if not remove_role(connection, project.pk):
            raise CommandError(f"The project {project.slug!r} has no role.")
        note(Action.DELETE, ROLE, project.slug, project.pk, [project.pk])
        self.stdout.write(f"The role of {project.slug} is removed.")


def address_of(access: Access) -> str:
    """For libpq; of a database on a socket with its folder as a parameter."""
    found = session_parameters()
    host, port = str(found.get("host") or ""), found.get("port") or 5432
    user = f"{access.role}:{access.password}"
    if not host or host.startswith("/"):
        return f"postgresql://{user}@/{found['dbname']}?host={quote(host, safe='')}&port={port}"
    return f"postgresql://{user}@{host}:{port}/{found['dbname']}"


def _find(slug: str) -> Project:
    project = Project.objects.filter(slug=slug, is_own=False).first()
    if project is None:
        raise CommandError(f"There is no project {slug!r}.")
    return project


def _reason(error: psycopg.Error) -> str:
    return " ".join(str(error).split()) or type(error).__name__
