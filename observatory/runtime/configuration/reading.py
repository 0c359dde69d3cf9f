"""Finds the items that the files of a folder describe."""

from __future__ import annotations

from collections.abc import Iterator

from observatory.clusters.provisioning.models import LONGEST_KEY
from observatory.runtime.configuration.fields import refuse_unknown_keys, text_of
from observatory.runtime.configuration.kind import Item, Kind
from observatory.runtime.configuration.kinds import GROUP_ROLE, KINDS, OF_ALL, OF_PROJECTS, PROJECT
from observatory.runtime.configuration.nodes import Mapping, Node, Place, Problems, Scalar, Sequence

DELETED = "deleted_ready_made_rules"
SECTIONS = (PROJECT.section, *(kind.section for kind in OF_ALL), DELETED)


def read_items(files: list[Mapping], problems: Problems) -> list[Item]:
    """The items, in the order of KINDS. Two of one kind and key are a problem."""
    found: list[Item] = []
    for content in files:
        refuse_unknown_keys(content, SECTIONS, problems)
        for node in _objects(content, PROJECT, problems):
            found += _of_project(node, problems)
        for kind in OF_ALL:
            found += _items(content, kind, "", problems)
    order = {kind.name: place for place, kind in enumerate(KINDS)}
    found.sort(key=lambda item: order[item.kind.name])
    kept = list(_once(found, problems))
    projects = {item.key: item for item in kept if item.kind is PROJECT}
    for item in kept:
        item.owner = projects.get(item.project)
    return kept


def read_deleted_rules(files: list[Mapping], problems: Problems) -> list[tuple[Place, str]]:
    """The keys of ready-made rules that there should not be."""
    found = []
    for content in files:
        node = content.entries.get(DELETED)
        if isinstance(node, Sequence):
            found += [(item.place, text) for item in node.items if (text := text_of(item, problems))]
        elif node is not None and not _is_null(node):
            problems.add(node.place, "Write a list of keys here, as in [idle-cluster].")
    return found


def _of_project(node: Mapping, problems: Problems) -> Iterator[Item]:
    PROJECT.refuse_unknown(node, problems)
    slug = PROJECT.written_key(node, "", problems)
    if slug is None:
        return
    yield Item(PROJECT, slug, node)
    groups = node.entries.get(GROUP_ROLE.section)
    if isinstance(groups, Mapping):
        for group, role in groups.entries.items():
            role_node = Mapping(role.place, {"role": role})
            yield Item(GROUP_ROLE, f"{slug}/{group}", role_node, slug)
    elif groups is not None and not _is_null(groups):
        problems.add(groups.place, "Write groups with their roles here, as in {data-platform: owner}.")
    for kind in OF_PROJECTS:
        yield from _items(node, kind, slug, problems)


def _items(parent: Mapping, kind: Kind, project: str, problems: Problems) -> Iterator[Item]:
    for node in _objects(parent, kind, problems):
        kind.refuse_unknown(node, problems)
        if (key := kind.written_key(node, project, problems)) is not None:
            yield Item(kind, key, node, project)


def _objects(parent: Mapping, kind: Kind, problems: Problems) -> Iterator[Mapping]:
    node = parent.entries.get(kind.section)
    if node is None or _is_null(node):
        return
    if not isinstance(node, Sequence):
        problems.add(node.place, "Write a list here: each item begins with a dash.")
        return
    for item in node.items:
        if isinstance(item, Mapping):
            yield item
        else:
            problems.add(item.place, f"A {kind.name} is an object, with keys and values.")


def _once(items: list[Item], problems: Problems) -> Iterator[Item]:
    first: dict[tuple[str, str], Item] = {}
    for item in items:
        same = first.setdefault((item.kind.name, item.key), item)
        place = same.node.place
        if same is not item:
            problems.add(item.node.place, f"The {item.title} is in {place.file}:{place.line} already.")
        elif len(item.key) > LONGEST_KEY:
            problems.add(item.node.place, f"A name has at most {LONGEST_KEY} characters.")
        else:
            yield item


def _is_null(node: Node) -> bool:
    return isinstance(node, Scalar) and node.text is None
