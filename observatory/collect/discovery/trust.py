"""Which targets may be this machine."""

from __future__ import annotations

from observatory.clusters.models import Target


def may_be_this_machine(target: Target) -> bool:
    """Whether a target's host may be a loopback address: people may enter one, foreign lists not. Blocks.

    `target.discovery` has been read.
    """
    discovery = target.discovery
    if discovery is None:
        return True
    # few collectors need it, and pydantic with it
    from observatory.collect.discovery.kinds import discovery_kinds

    kind = discovery_kinds().get(discovery.kind)
    return kind is not None and kind.is_on_this_machine(discovery.address)
