"""The MCP tools as clients are told of them: plain data, so that telling of them imports nothing of the index."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import mcp_types as types
from pydantic import BaseModel

from mdmem.agents import shapes
from mdmem.agents.shapes import schema_of


class Tool(NamedTuple):
    """A tool as clients see it, and the function of `mdmem.agents.tools` that it runs."""

    title: str
    about: str
    arguments: type[shapes.Arguments]
    answer: type[BaseModel]
    run: str
    reads: bool = True
    destroys: bool = False
    repeats: bool = True  # calling it once more with the same arguments changes nothing more


RECALL = Tool(
    "Recall a memory",
    "Read one memory whole, by its key. Counts as a use of it.",
    shapes.Recall,
    shapes.Whole,
    "recall",
)
PROPOSE = Tool(
    "Propose a memory",
    "Propose something worth remembering in later sessions. It waits for the person's approval; nothing is remembered "
    "at once.",
    shapes.Propose,
    shapes.Proposed,
    "propose",
    reads=False,
)
TOOLS: dict[str, Tool] = {
    "search_memory": Tool(
        "Search memory",
        "Find what is remembered about a question: rules, decisions, procedures, capabilities, facts. Keys and "
        "one-liners, best first; read one whole with recall_memory. Search before you say that you can't.",
        shapes.Search,
        shapes.Hits,
        "search",
    ),
    "recall_memory": RECALL,
    "memory_read": RECALL._replace(about="The same as recall_memory."),
    "list_memories": Tool("List memories", "List what is remembered, by scope.", shapes.List, shapes.Lines, "listing"),
    "list_memory_conflicts": Tool(
        "List conflicts",
        "List pairs of memories that can't both hold.",
        shapes.Conflicts,
        shapes.ConflictList,
        "conflicts",
    ),
    "propose_memory": PROPOSE,
    "memory_write": PROPOSE._replace(about="The same as propose_memory: it proposes, a person approves."),
    "supersede_memory": Tool(
        "Propose to supersede a memory",
        "Propose what is to take the place of a memory that no longer holds. It waits for the person's approval.",
        shapes.Supersede,
        shapes.Proposed,
        "supersede",
        reads=False,
    ),
    "update_notes": Tool(
        "Update your notes",
        "Write your own working notes, which you alone are given again in later sessions.",
        shapes.Notes,
        shapes.Noted,
        "note",
        reads=False,
        destroys=True,
        repeats=False,
    ),
}


@cache
def described_tools() -> list[types.Tool]:
    """The tools as clients are told of them."""
    return [
        types.Tool(
            name=name,
            title=tool.title,
            description=tool.about,
            input_schema=schema_of(tool.arguments),
            output_schema=schema_of(tool.answer, of_answer=True),
            annotations=types.ToolAnnotations(
                title=tool.title,
                read_only_hint=tool.reads,
                destructive_hint=tool.destroys,
                idempotent_hint=tool.repeats,
                open_world_hint=False,
            ),
        )
        for name, tool in TOOLS.items()
    ]
