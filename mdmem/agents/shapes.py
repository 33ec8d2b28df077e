"""What the MCP tools take and give, as pydantic models: the arguments checked, and the JSON Schemas of both."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

Kind = Literal["user", "project", "agent"]


def _listed(value: object) -> object:
    """One name where a list is meant."""
    return [value] if isinstance(value, str) else value


Kinds = Annotated[list[Kind], BeforeValidator(_listed), Field(description="Only these scopes: user, project, agent.")]
Names = Annotated[list[str], BeforeValidator(_listed)]
Types = Annotated[Names, Field(description="Only these types: rule, feedback, procedure, decision, fact, ...")]
Invalid = Annotated[bool, Field(description="Also what is archived, expired or superseded.")]
Quotes = Annotated[Names, Field(max_length=20, description="Quoted lines of the conversation that show it.")]


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid")

    cwd: str | None = Field(None, description="Absolute folder of the project meant. Default: where you work.")


class Search(Arguments):
    query: str = Field(max_length=10_000, description="Words, a question, or an exact key.")
    mode: Literal["hybrid", "keyword", "semantic"] = "hybrid"
    scope: Kinds = []
    type: Types = []
    limit: int = Field(10, ge=1, le=50)
    include_invalid: Invalid = False


class Recall(Arguments):
    key: str = Field(max_length=4_000, description="A key or path as search_memory gives it, or enough to be unique.")
    scope: Kinds = []


class List(Arguments):
    scope: Kinds = []
    type: Types = []
    limit: int = Field(50, ge=1, le=200)
    include_invalid: Invalid = False


class Conflicts(Arguments):
    pass


class Propose(Arguments):
    text: str = Field(description="What is to be remembered: one thing, in a few sentences.")
    type: str | None = Field(None, description="rule, feedback, user, project, capability, procedure, decision, ...")
    name: str | None = Field(None, max_length=200, description="A short title.")
    key: str | None = Field(None, max_length=200, description="An exact identifier, such as deploy:website.")
    description: str | None = Field(None, max_length=500, description="One line that says what it is about.")
    scope: Kind | None = Field(None, description="Whose memory. Default: this project's, else the user's.")
    confidence: float | None = Field(None, ge=0, le=1)
    entities: Names = Field([], max_length=50, description="Names that it is about.")
    tags: Names = Field([], max_length=50)
    evidence: Quotes = []


class Supersede(Arguments):
    key: str = Field(max_length=4_000, description="Key or path of the memory that no longer holds.")
    text: str = Field(description="What holds instead.")
    type: str | None = Field(None, description="Default: as the old one.")
    name: str | None = Field(None, max_length=200, description="A short title.")
    description: str | None = Field(None, max_length=500, description="One line that says what it is about.")
    evidence: Quotes = []


class Notes(Arguments):
    text: str = Field(description="Your notes, in markdown.")
    version: str | None = Field(
        None,
        description="The version that recall_memory or the last update_notes gave: the text then replaces those notes. "
        "Without it the text is added at their end.",
    )
    agent: str | None = Field(None, description="Your agent id. Default: what your client calls itself.")


class Line(BaseModel):
    """A memory in a listing."""

    key: str
    uri: str
    scope: Kind
    scope_ref: str | None
    path: str
    name: str
    description: str
    type: str
    status: str
    confidence: float
    source: str
    updated: str | None
    invalid: str | None = None


class Hit(Line):
    rank: int
    score: float
    why: str


class Answered(BaseModel):
    degraded: list[str] = []
    notes: list[str] = []


class Hits(Answered):
    memories: list[Hit]


class Lines(Answered):
    memories: list[Line]
    total: int


class Whole(Answered):
    memory: Line
    body: str
    left_out_chars: int
    version: str
    warning: str | None


class Party(BaseModel):
    key: str
    uri: str
    path: str
    description: str


class Conflict(BaseModel):
    winner: Party
    loser: Party
    reason: str
    waits_for_a_person: bool


class ConflictList(Answered):
    conflicts: list[Conflict]


class Proposed(Answered):
    status: Literal["waiting for approval", "approved"]
    candidate: str
    path: str
    action: Literal["ADD", "UPDATE", "SUPERSEDE"]
    target: str | None
    new: bool


class Noted(Answered):
    key: str
    path: str
    version: str


def schema_of(model: type[BaseModel], *, of_answer: bool = False) -> dict[str, Any]:
    """The JSON Schema of a model, short: every client reads it into its model's prompt.

    Without the titles that pydantic adds; and what may be left out need not be called nullable in arguments.
    """
    schema = model.model_json_schema(mode="serialization" if of_answer else "validation")
    found: dict[str, Any] = _short(schema, nullable=of_answer)
    return found


def _short(part: Any, *, nullable: bool, names: bool = False) -> Any:  # noqa: ANN401  # any part of a schema
    """`names`: the keys of this map are names of properties, and one of them may be `title`."""
    if isinstance(part, list):
        return [_short(item, nullable=nullable) for item in part]
    if not isinstance(part, dict):
        return part
    kinds = part.get("anyOf", [])
    if not names and not nullable and {"type": "null"} in kinds and len(kinds) == 2:
        kind = next(kind for kind in kinds if kind != {"type": "null"})
        part = kind | {k: v for k, v in part.items() if k not in ("anyOf", "default")}
    return {
        k: _short(v, nullable=nullable, names=k in ("properties", "$defs"))
        for k, v in part.items()
        if names or k != "title"
    }
