"""The profiles and traces that are attached to a run, in its bundle: `attached-1.blocks` and so on.

Each has three blocks: the lines of its frames, the tree of its stacks, and how long a thread was in a stack.
"""

from __future__ import annotations

from typing import IO

import numpy as np

from observatory.exchange.attachments.answer import attachments_of
from observatory.exchange.attachments.binned_stacks import (
    BINS,
    LONGEST,
    MOST_ROWS,
    BinnedStacks,
    Integers,
    pack,
    unpack,
)
from observatory.exchange.attachments.stack_tree import MOST_NODES, OTHER_FRAME, ROOT, StackTree, clean_line
from observatory.exchange.bundles.manifest import MOST_ATTACHMENTS, AttachmentFacts, ThreadFacts
from observatory.exchange.imports.refusal import Refused
from observatory.replay.scope import Scope, Section
from observatory.runs.models import Attachment
from observatory.store.times import from_seconds
from observatory.wire.blocks import Block, encode, number_column, text_column
from observatory.wire.records import clean_text

FRAMES, NODES, STACKS = "frame", "node", "stack"
"""kinds of blocks, in their order"""


def carried(scope: Scope) -> list[Attachment]:
    """Those that a bundle of the scope has: where it shows code, and need not hide addresses."""
    if Section.CODE not in scope.sections or scope.pseudonyms is not None:
        return []
    return list(attachments_of(scope)[:MOST_ATTACHMENTS])


def facts_of(attachment: Attachment) -> AttachmentFacts:
    return AttachmentFacts(
        name=attachment.name,
        format=attachment.format,  # type: ignore[arg-type]  # it is one of its choices
        digest=attachment.digest,
        start=attachment.start.timestamp(),
        seconds=attachment.seconds,
        is_dated=attachment.is_dated,
        threads=[ThreadFacts(**{**each, "worker": each["worker"] or 0}) for each in attachment.threads],
        remarks=attachment.remarks,
    )


def write_stacks(attachment: Attachment, part: IO[bytes]) -> None:
    stacks = unpack(bytes(attachment.stacks))
    part.write(encode(FRAMES, len(stacks.lines), [text_column("line", stacks.lines)]))
    tree = [number_column("parent", "u32", stacks.parents), number_column("frame", "u32", stacks.frames)]
    part.write(encode(NODES, len(stacks.parents), tree))
    rows = [
        number_column("thread", "u32", stacks.thread.tolist()),
        number_column("bin", "u32", stacks.bin.tolist()),
        number_column("node", "u32", stacks.node.tolist()),
        number_column("nanoseconds", "i64", stacks.nanoseconds.tolist()),
    ]
    part.write(encode(STACKS, len(stacks.thread), rows, {"bins": stacks.bins}))


def read_stacks(blocks: list[Block], facts: AttachmentFacts) -> bytes:
    """The stacks as they are stored. Raises Refused, and KeyError for a column that is missing."""
    if [block.kind for block in blocks] != [FRAMES, NODES, STACKS]:
        raise _invalid(facts, "it has other blocks than those of stacks")
    frames, nodes, stacks = blocks
    tree, made = _tree(frames, nodes, facts)
    thread, bin, node, spent = (_numbers(stacks, name) for name in ("thread", "bin", "node", "nanoseconds"))
    bins = stacks.meta.get("bins")
    if not isinstance(bins, int) or not 1 <= bins <= BINS or not 1 <= stacks.rows <= MOST_ROWS:
        raise _invalid(facts, "the number of its rows or bins is no valid one")
    within = (
        (thread < len(facts.threads))
        & (bin < bins)
        & (node > ROOT)
        & (node < len(made))
        & (spent >= 0)
        & (spent <= LONGEST * 1e9)
    )
    if not within.all():
        raise _invalid(facts, "a row refers to what it hasn't")
    order = np.lexsort((node, bin, thread))
    kept = [column[order] for column in (thread, bin, np.array(made, np.int64)[node], spent)]
    return pack(BinnedStacks(bins, tree.lines, tree.parents, tree.frames, *kept))


def _tree(frames: Block, nodes: Block, facts: AttachmentFacts) -> tuple[StackTree, list[int]]:
    """The tree, within the limits of one that is read from a file, and its nodes by those of the bundle."""
    tree = StackTree()
    lines = [tree.frame(line if line == OTHER_FRAME else clean_line(line)) for line in frames.list("line")]
    parents, of_nodes = _numbers(nodes, "parent"), _numbers(nodes, "frame")
    places = np.arange(nodes.rows)
    if not 1 <= nodes.rows <= MOST_NODES + 1 or (parents[1:] >= places[1:]).any():
        raise _invalid(facts, "its stacks are no tree")
    if (of_nodes >= len(lines)).any():
        raise _invalid(facts, "a stack has a frame that it hasn't")
    made = [ROOT]
    for parent, frame in zip(parents[1:].tolist(), of_nodes[1:].tolist(), strict=True):
        made.append(tree.child(made[parent], lines[frame]))
    return tree, made


def _numbers(block: Block, name: str) -> Integers:
    column = block.columns[name]
    types = {"u32": np.uint32, "i64": np.int64}
    if column.type not in types:
        raise KeyError(name)
    return np.frombuffer(column.data, types[column.type]).astype(np.int64)


def _invalid(facts: AttachmentFacts, reason: str) -> Refused:
    return Refused(f"The attached file {facts.name[:100]!r} can't be read: {reason}.")


def attachment_of(facts: AttachmentFacts, stacks: bytes, workers: dict[int, int]) -> Attachment:
    """Not saved, without its run. `workers`: ids of this database by those in the bundle."""
    return Attachment(
        name=clean_text(facts.name, 255),
        format=facts.format,
        digest=facts.digest,
        start=from_seconds(facts.start),
        seconds=facts.seconds,
        is_dated=facts.is_dated,
        threads=[
            {
                "process": clean_text(each.process, 200),
                "name": clean_text(each.name, 200),
                "worker": workers.get(each.worker) or None,
            }
            for each in facts.threads
        ],
        stacks=stacks,
        remarks=clean_text(facts.remarks, len(facts.remarks) or 1),
    )
