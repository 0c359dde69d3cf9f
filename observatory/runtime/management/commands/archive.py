"""`dask-observatory archive`: what is in the archive, archiving now, and checking the files."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from observatory.clusters.formatting import format_bytes, format_count
from observatory.clusters.models import Cluster
from observatory.runtime.health import archive
from observatory.store.archive import catalogue
from observatory.store.archive.catalogue import Piece
from observatory.store.archive.errors import ArchiveError
from observatory.store.connection import connect


class Command(BaseCommand):
    help = "Lists, writes and checks the archive of clusters that ended. OBSERVATORY_ARCHIVE says where."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        commands = parser.add_subparsers(dest="action", required=True)
        listing = commands.add_parser("list", help="what is in the archive, by cluster")
        listing.add_argument("--files", action="store_true", help="the paths of all files instead")
        run = commands.add_parser("run", help="archive what waits now, as the service worker does later")
        run.add_argument("--again", action="store_true", help="write all files again, as of a lost archive")
        verify = commands.add_parser("verify", help="compare files, catalogue and rows")
        adopt = commands.add_parser(
            "adopt", help="make clusters that the database doesn't know its own, from their files alone"
        )
        adopt.add_argument(
            "projects",
            nargs="*",
            metavar="ARCHIVED[=PROJECT]",
            help="short names of a project in the archive and of one here, which is made if there is none; "
            "without any, lists those in the archive",
        )
        adopt.add_argument(
            "--keep-going", action="store_true", help="leave out what is damaged instead of adopting nothing"
        )
        for each in (listing, verify):
            each.add_argument("--cluster", type=int, help="the number of a cluster; without it all")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            getattr(self, f"_{options['action']}")(options)
        except ArchiveError as error:
            raise CommandError(str(error)) from error

    def _list(self, options: dict[str, Any]) -> None:
        with connect() as connection:
            pieces = catalogue.pieces(connection, options["cluster"])
        if options["files"]:
            for piece in pieces:
                self.stdout.write(piece.path)
            return
        by_cluster: dict[int, list[Piece]] = {}
        for piece in pieces:
            by_cluster.setdefault(piece.cluster, []).append(piece)
        names = dict(Cluster.objects.filter(pk__in=by_cluster).values_list("pk", "name"))
        for cluster, found in by_cluster.items():
            rows, size = sum(piece.rows for piece in found), sum(piece.bytes for piece in found)
            self.stdout.write(
                f"cluster {cluster}, {names.get(cluster, 'deleted')}: {format_count(rows)} rows in "
                f"{format_count(len(found))} files, {format_bytes(size)}"
            )
        self.stdout.write(f"{archive.sentence(archive.progress())}.")

    def _run(self, options: dict[str, Any]) -> None:
        from observatory.store.archive.place import required_place
        from observatory.store.archive.rounds.archiving import Archived
        from observatory.store.archive.rounds.round import archive_again, archive_round

        def report(cluster: int, done: Archived) -> None:
            self.stdout.write(
                f"cluster {cluster}: {format_count(done.rows)} rows in {format_count(done.files)} files, "
                f"{format_bytes(done.bytes)}"
            )

        if options["again"]:
            archive_again(required_place())
        archive_round(float("inf"), report=report)
        self.stdout.write(f"{archive.sentence(archive.progress())}.")

    def _adopt(self, options: dict[str, Any]) -> None:
        from observatory.runtime.adoption import Adoption, CannotAdopt, names_of
        from observatory.store.archive.place import required_place

        place = required_place()
        place.require_mark()
        names = names_of(options["projects"])
        try:
            Adoption(place, names, options["keep_going"], self.stdout.write, self.stderr.write).run()
        except CannotAdopt as error:
            raise CommandError(str(error)) from error

    def _verify(self, options: dict[str, Any]) -> None:
        from observatory.store.archive.files.verification import Fault, verify_files, verify_rows
        from observatory.store.archive.place import required_place

        place, counts = required_place(), Counter[str]()
        with connect() as connection:
            place.check(catalogue.is_used(connection))
            clusters = {piece.cluster for piece in catalogue.pieces(connection, options["cluster"])}
            found = [verify_files(connection, place, options["cluster"])]
            found += [verify_rows(connection, cluster) for cluster in sorted(clusters)]
            for each in (one for some in found for one in some):
                if isinstance(each, Fault):
                    counts["faults"] += 1
                    self.stderr.write(f"{each.where}: {each.text}")
                else:
                    counts["files"] += 1
                    counts["rows"] += each.rows
        self.stdout.write(
            f"{format_count(counts['files'])} files with {format_count(counts['rows'])} rows are as the "
            "catalogue says."
        )
        if counts["faults"]:
            raise CommandError(f"{format_count(counts['faults'])} faults")
