"""`dask-observatory archive adopt`: clusters of an archive that the database doesn't know become its own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field

import psycopg

from observatory.clusters.formatting import format_bytes, format_count
from observatory.clusters.models import Project
from observatory.store.archive.errors import ArchiveError
from observatory.store.archive.files.verification import Fault
from observatory.store.archive.place import Place
from observatory.store.archive.restoring.adoption import adopt, readers_know
from observatory.store.archive.restoring.found_clusters import (
    FoundCluster,
    check_files,
    find_clusters,
    retention_days,
)
from observatory.store.archive.restoring.numbers import reserve
from observatory.store.archive.rounds.archiving import in_path
from observatory.store.connection import connect

Say = Callable[[str], object]


class CannotAdopt(Exception):
    """Nothing, or not everything, was adopted. The message says why, and what to do."""


@dataclass(slots=True)
class Adoption:
    """Of the clusters of one archive; `names` are projects here by those of the archive (short names)."""

    place: Place
    names: dict[str, str]
    keeps_going: bool
    say: Say
    complain: Say
    faults: int = 0
    _damaged: set[str] = field(default_factory=set)
    """paths"""

    def run(self) -> None:
        """Raises CannotAdopt, ArchiveError and psycopg.Error; clusters that were adopted by then stay."""
        found = find_clusters(self.place)
        if not self.names:
            self._list(found.clusters)
            return
        projects = {cluster.project for cluster in found.clusters}
        if unknown := sorted(self.names.keys() - projects):
            known = ", ".join(sorted(projects)) or "none"
            raise CannotAdopt(f"The archive has no project {', '.join(unknown)}; it has: {known}.")
        wanted = [cluster for cluster in found.clusters if cluster.project in self.names]
        folders = tuple(f"project={in_path(name)}/" for name in self.names)
        for folder in found.unlisted:
            if folder.startswith(folders):
                self.complain(f"{folder}: left out, the archive was not done with this cluster")
        self._note(fault for fault in found.faults if fault.where.split("/", 1)[-1].startswith(folders))
        self._check(wanted)
        if self.faults and not self.keeps_going:
            raise CannotAdopt(
                f"{format_count(self.faults)} faults: nothing was adopted. Bring these files back from your "
                "backup, or go on without them: --keep-going."
            )
        destinations = {name: self._project(name, here, wanted) for name, here in self.names.items()}
        self._adopt(wanted, destinations)

    def _list(self, clusters: Sequence[FoundCluster]) -> None:
        for name in sorted({cluster.project for cluster in clusters}):
            of_project = [cluster for cluster in clusters if cluster.project == name]
            first = min(cluster.start for cluster in of_project)
            last = max(cluster.stop for cluster in of_project)
            size = sum(cluster.bytes for cluster in of_project)
            self.say(
                f"{name}: {format_count(len(of_project))} clusters, {first:%Y-%m-%d} to {last:%Y-%m-%d}, "
                f"{format_bytes(size)}"
            )
        self.say("Say which projects they go into, such as: archive adopt etl research=lab")

    def _note(self, faults: Iterable[Fault]) -> None:
        for fault in faults:
            self.faults += 1
            self._damaged.add(fault.where)
            self.complain(f"{fault.where}: {fault.text}")

    def _check(self, clusters: Sequence[FoundCluster]) -> None:
        size, done = sum(cluster.bytes for cluster in clusters), 0
        for number, cluster in enumerate(clusters, 1):
            self._note(each for each in check_files(self.place, cluster) if isinstance(each, Fault))
            done += cluster.bytes
            self.say(
                f"checked {format_count(number)} of {format_count(len(clusters))} clusters, "
                f"{format_bytes(done)} of {format_bytes(size)}"
            )

    def _project(self, name: str, here: str, clusters: Sequence[FoundCluster]) -> Project:
        """The project of a short name, which is made if there is none. Raises CannotAdopt."""
        days = max(
            (
                retention_days(self.place, cluster, self._damaged)
                for cluster in clusters
                if cluster.project == name
            ),
            default=0,
        )
        project = Project.objects.filter(slug=here).first()
        if project is None:
            self.say(f"the project {here} is made")
            keeps = {"retention_days": days} if days else {}
            return Project.objects.create(name=here, slug=here, **keeps)
        if project.effective_retention_days < days:
            raise CannotAdopt(
                f"The project {here} keeps records {project.effective_retention_days} days, those of the "
                f"archive were kept {days}: they would be deleted. Raise its retention first."
            )
        return project

    def _adopt(self, clusters: Sequence[FoundCluster], projects: dict[str, Project]) -> None:
        adopted = there = 0
        with connect() as connection:
            reserved = reserve(connection, clusters)
        with readers_know(self.say):
            for number, cluster in enumerate(clusters, 1):
                where = f"{format_count(number)} of {format_count(len(clusters))}"
                try:
                    done = adopt(
                        self.place, projects[cluster.project].pk, cluster, reserved, frozenset(self._damaged)
                    )
                except (ArchiveError, psycopg.DataError, psycopg.IntegrityError) as error:
                    text = str(error).split("\n")[0]
                    if not self.keeps_going:
                        raise CannotAdopt(
                            f"{cluster.where}: {text}. {format_count(adopted)} clusters were adopted before; "
                            "--keep-going leaves this one out."
                        ) from error
                    self.faults += 1
                    self.complain(f"{cluster.where}: left out: {text}")
                    continue
                adopted, there = adopted + done.is_new, there + (not done.is_new)
                says = "adopted" if done.is_new else "is here already"
                renumbered = "" if done.keeps_numbers else ", with new numbers: its tiles are built again"
                self.say(f"{where}: cluster {done.number}, {cluster.name}: {says}{renumbered}")
        self.say(f"{format_count(adopted)} clusters were adopted, {format_count(there)} were here already.")
        if self.faults:
            raise CannotAdopt(f"{format_count(self.faults)} faults: these files or clusters were left out.")


def names_of(arguments: Collection[str]) -> dict[str, str]:
    """Projects here by those of the archive: "etl" or "etl=here" each."""
    return {name: here or name for name, _, here in (each.partition("=") for each in arguments)}
