"""Answers in, the marked sections of agents' instruction files brought up to date out.

For agents whose hooks take no text. A project's file is committed, so only the project's own memories go into it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mdmem.config.agents import agent_folders
from mdmem.errors import SilentError
from mdmem.outputs import sections
from mdmem.scope import PROJECT_FOLDER

if TYPE_CHECKING:
    from mdmem.app.answers import Answers


def follow_instructions(answers: Answers) -> dict[str, Any]:
    """The answer to `instructions`: which files were written, which could not be, and whether git was busy."""
    scopes = answers.app.roster().scopes
    roots = [scope.folder.removesuffix(f"/{PROJECT_FOLDER}") for scope in scopes if scope.kind == "project"]

    def block(root: str | None) -> str:
        kind = "user" if root is None else "project"
        answer = answers.answer({"op": "inject", "cwd": root, "scope": [kind], "note": False})
        if not answer.get("ok"):
            raise SilentError(str(answer["error"]["what"]), hint=answer["error"]["hint"])
        return str(answer["text"]) or sections.EMPTY_BLOCK

    followed = sections.follow(roots, sections.user_files(agent_folders()), block)
    problems = [problem._asdict() for problem in followed.problems]
    return {"written": followed.written, "problems": problems, "busy": followed.busy}
