"""The kinds of what files describe, a module each, in the order in which they need each other."""

from __future__ import annotations

from observatory.runtime.configuration.kind import Kind
from observatory.runtime.configuration.kinds.channel import ChannelKind
from observatory.runtime.configuration.kinds.discovery import DiscoveryKind
from observatory.runtime.configuration.kinds.group_role import GroupRoleKind
from observatory.runtime.configuration.kinds.maintenance_window import MaintenanceWindowKind
from observatory.runtime.configuration.kinds.project import ProjectKind
from observatory.runtime.configuration.kinds.receiver import ReceiverKind
from observatory.runtime.configuration.kinds.rule import RuleKind
from observatory.runtime.configuration.kinds.silence import SilenceKind
from observatory.runtime.configuration.kinds.target import TargetKind

PROJECT = ProjectKind()
GROUP_ROLE = GroupRoleKind()
OF_PROJECTS: tuple[Kind, ...] = (TargetKind(), DiscoveryKind())
"""written in their projects, as are the roles of groups"""
OF_ALL: tuple[Kind, ...] = (
    RuleKind(),
    ChannelKind(),
    ReceiverKind(),
    SilenceKind(),
    MaintenanceWindowKind(),
)
"""keys of files, with the projects that they apply to"""
KINDS: tuple[Kind, ...] = (PROJECT, GROUP_ROLE, *OF_PROJECTS, *OF_ALL)
