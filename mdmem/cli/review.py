"""`review`: proposed memories in, asked about one by one or decided by key; memories and decisions out."""

from __future__ import annotations

import datetime
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from mdmem.cli import options, say
from mdmem.cli.ask import ask, make_findable
from mdmem.cli.keys import read_key
from mdmem.errors import AmbiguousError, MdmemError, NotFoundError, UsageError

if TYPE_CHECKING:
    from mdmem.app import App
    from mdmem.candidates.inbox import Candidate, Verdict, Waiting
    from mdmem.ledger import Decided
    from mdmem.review.decide import Desk, Done
    from mdmem.scope import Scope

_WIDTH = 80  # where no terminal says how wide it is


@click.command()
@click.argument("keys", nargs=-1, metavar="[KEY]...")
@click.option("--list", "lists", is_flag=True, help="Show what waits, and decide nothing.")
@click.option("--approve", multiple=True, metavar="KEY", help="Approve this candidate, unasked. More KEYs may follow.")
@click.option("--reject", multiple=True, metavar="KEY", help="Reject this candidate, unasked. More KEYs may follow.")
@click.option("--weak", is_flag=True, help="Also those that were met only once, and wait for a second sign.")
@options.caller
@options.as_json
def review_command(
    keys: tuple[str, ...],
    lists: bool,
    approve: tuple[str, ...],
    reject: tuple[str, ...],
    weak: bool,
    cwd: str | None,
    agent: str | None,
    as_json: bool,
) -> int:
    """Decide about proposed memories: nothing that agents propose is a memory before you approve it.

    KEY is a candidate's key as --list shows it, the key of the memory it would become, or enough of either.

    \b
    Examples:
      mdmem review
      mdmem review --list --json
      mdmem review --approve deploy-blyck-3f2a --reject style
    """
    from mdmem.app import App

    app = App()
    wanted = _wanted(keys, approve, reject)
    if wanted:
        return _decide(app, options.who(cwd, agent), wanted, as_json)
    waiting = _waiting(app, weak=weak)
    if lists or as_json:
        _list(waiting, as_json)
    elif waiting:
        _ask(app, options.who(cwd, agent), waiting)
    else:
        say.out("Nothing waits for you.")
    return 0


def _wanted(keys: tuple[str, ...], approve: tuple[str, ...], reject: tuple[str, ...]) -> list[tuple[str, str]]:
    """(KEY, what to do) in order; the bare KEYs go with the one option that is there."""
    if keys and bool(approve) == bool(reject):
        raise UsageError("approve or reject?", hint="say it before each KEY: --approve KEY --reject KEY")
    more = [(key, "approve" if approve else "reject") for key in keys]
    return [*((key, "approve") for key in approve), *((key, "reject") for key in reject), *more]


def _waiting(app: App, *, weak: bool) -> list[Waiting]:
    """What waits, the strongest first; what lies there without being a candidate is said."""
    from mdmem.candidates import inbox
    from mdmem.review.order import is_weak, ordered

    found = inbox.list_candidates(app.inbox_folder)
    for problem in found.problems:
        say.note(f"{app.inbox_folder}/{problem.path} {problem.message}; {problem.hint}")
    shown = [one for one in ordered(found.waiting) if weak or not is_weak(one)]
    if len(shown) < len(found.waiting):
        hidden = len(found.waiting) - len(shown)
        say.note(f"{hidden} weak {'one is' if hidden == 1 else 'ones are'} not shown; see them with --weak")
    return shown


def _list(waiting: Sequence[Waiting], as_json: bool) -> None:
    from mdmem.review.screen import candidate_json, summary

    if as_json:
        say.json_out([candidate_json(one) for one in waiting])
        return
    for one in waiting:
        for line in summary(one, _columns(), say.paint):
            say.out(line)
    if not waiting:
        say.note("nothing waits")


# --- by key -------------------------------------------------------------------------------------------


def _decide(app: App, who: dict[str, Any], wanted: Sequence[tuple[str, str]], as_json: bool) -> int:
    """All KEYs are known before the first is decided; one that can't be decided does not stop the others."""
    from mdmem.candidates import inbox
    from mdmem.review import decide

    waiting = inbox.list_candidates(app.inbox_folder).waiting
    chosen = {_resolve(waiting, key): decision for key, decision in wanted}
    if len(chosen) < len(wanted):
        raise UsageError("one candidate is named twice", hint="say once what is to be done with it")
    new: set[str] = set()
    desk = desk_of(app, who, new)
    by_key = {one.key: one for one in waiting}
    done: list[Done] = []
    failed: dict[str, MdmemError] = {}
    for key, decision in chosen.items():
        act = decide.approve if decision == "approve" else decide.reject
        try:
            done.append(act(desk, decide.look(desk, by_key[key])))
        except MdmemError as error:
            failed[key] = error
    _make_findable(done, new)
    if as_json:
        say.json_out([*map(_done_json, done), *(_failed_json(key, error) for key, error in failed.items())])
    else:
        for one_done in done:
            say.out(f"{one_done.decision}: {one_done.memory.path if one_done.memory else one_done.key}")
    from mdmem.cli.root import tell_all

    return tell_all(failed.values())


def _resolve(waiting: Sequence[Waiting], text: str) -> str:
    """The key of the candidate that is meant. Raises NotFoundError, AmbiguousError."""
    from mdmem.review.marks import text_of

    words = text.casefold().removesuffix(".md")
    named = [(one, one.key.casefold(), text_of(one.candidate, "key").casefold()) for one in waiting]
    exact = [one.key for one, own, memory in named if words in (own, memory) or text == one.path]
    found = exact or [one.key for one, own, memory in named if words in own or words in memory]
    if not words.strip():
        raise UsageError("which candidate?", hint="see: mdmem review --list")
    if not found:
        raise NotFoundError(f"no candidate {text!r} waits", hint="see: mdmem review --list")
    if len(found) > 1:
        raise AmbiguousError(f"{text!r} fits {len(found)} candidates", choices=found[:10], hint="give more of the key")
    return found[0]


def _done_json(done: Done) -> dict[str, Any]:
    memory = {"key": done.memory.key, "path": done.memory.path} if done.memory else None
    return {"key": done.key, "decision": done.decision, "memory": memory, "error": None}


def _failed_json(key: str, error: MdmemError) -> dict[str, Any]:
    return {"key": key, "decision": None, "memory": None, "error": str(error)}


# --- by asking ----------------------------------------------------------------------------------------


def _ask(app: App, who: dict[str, Any], waiting: Sequence[Waiting]) -> None:
    from mdmem.candidates import inbox
    from mdmem.review.ask import Review
    from mdmem.review.screen import tally

    new: set[str] = set()
    review = Review(desk_of(app, who, new), _Terminal(), say.paint, waiting)
    try:
        review.run()
    finally:
        done = review.done
        _make_findable(done, new)
    approved = sum(one.memory is not None for one in done)
    left = len(inbox.list_candidates(app.inbox_folder).waiting)
    say.out(tally(approved, len(done) - approved, left))


class _Terminal:
    """The person at this terminal, or whoever writes lines to standard input."""

    def columns(self) -> int:
        return _columns()

    def tell(self, lines: Iterable[str]) -> None:
        for line in lines:
            say.out(line)
        sys.stdout.flush()

    def choose(self, prompt: Sequence[str], keys: str) -> str:
        while True:
            key = read_key(lambda: self._prompt(prompt))
            say.out(key if key.isprintable() else "")
            if key in ("", "q"):
                return "q"
            if key in keys:
                return key
            say.out("That is none of these keys.")

    def _prompt(self, prompt: Sequence[str]) -> None:
        for line in prompt:
            say.out(line)
        sys.stdout.write("> ")
        sys.stdout.flush()

    def edit(self, folder: str, rel: str) -> None:
        from mdmem import edit
        from mdmem.cli.write import editor_command

        edit.edit_in_editor(folder, rel, editor_command())


def _columns() -> int:
    """The width of the terminal now; it may have been resized since the last question."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or _WIDTH
    except (OSError, ValueError):
        return _WIDTH


# --- parts --------------------------------------------------------------------------------------------


def desk_of(app: App, who: dict[str, Any], new: set[str]) -> Desk:
    """What deciding needs, from the app and from whoever answers requests. `new` gets the scope folders to be made."""
    from mdmem.review.decide import Desk

    def scope_of(candidate: Candidate) -> Scope:
        scope = app.scope_of(candidate.scope, candidate.scope_ref, who["cwd"])
        if not os.path.isdir(scope.folder):
            new.add(scope.folder)
        return scope

    return Desk(
        app.inbox_folder, scope_of, _find, _note, _gates, lambda: datetime.datetime.now(datetime.UTC),
        f"human:{_login()}", app.guard(who["agent"]),
    )  # fmt: skip


def _gates(waiting: Waiting) -> Mapping[str, Verdict]:
    """What a person has edited is theirs: no gate holds it back but the one for secrets."""
    from mdmem.app.propose import verdicts_of_edited

    return verdicts_of_edited(waiting.candidate)


def _find(scope: Scope, key: str) -> str | None:
    """The path in a scope folder of the memory that has exactly this key."""
    from mdmem.files import printable

    folder = printable(scope.folder)
    who = {"cwd": os.path.dirname(scope.folder) if scope.kind == "project" else None,
           "agent": scope.ref if scope.kind == "agent" else None}  # fmt: skip
    try:
        found = ask({"op": "find", "key": key, "scope": [scope.kind], **who})
    except AmbiguousError as error:
        taken = [choice.partition("  (") for choice in error.choices]
        paths = [path.rstrip(")") for other, _, path in taken if other.casefold() == key.casefold()]
        inside = [path.removeprefix(f"{folder}/") for path in paths if path.startswith(f"{folder}/")]
        return inside[0] if inside else None
    except NotFoundError:
        return None
    is_it = found["folder"] == folder and found["memory"]["key"].casefold() == key.casefold()
    return printable(found["rel"]) if is_it else None


def _note(made: Sequence[Decided], taken_back: Sequence[Decided]) -> None:
    """Have decisions noted in the ledger; what can't be noted is said, and stands all the same."""
    try:
        ask({"op": "decided", "made": [[*one] for one in made], "taken_back": [[*one] for one in taken_back]})
    except MdmemError as error:
        say.note(f"decided, but not noted, so it may be proposed again: {error}")


def _make_findable(done: Sequence[Done], new: set[str]) -> None:
    """Have the index take in what was written."""
    from mdmem.files import from_printable

    places: dict[str, list[str]] = {}
    for made in (made for one in done for made in one.made):
        places.setdefault(from_printable(made.folder), []).append(from_printable(made.rel))
    if places:
        make_findable({**places}, reload=not new.isdisjoint(places))


def _login() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())  # a container's user may have no name
