"""Paths and settings in; the scopes, the embedder and who may see what out. Opens no database."""

from __future__ import annotations

import os
import shlex
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mdmem import files
from mdmem.config import Paths, find_paths
from mdmem.errors import ConfigError, MachineError, NotFoundError, UntrustedError, UsageError
from mdmem.files import git
from mdmem.scope import PROJECT_FOLDER, Project, Projects, Scope, check_ref, project_root

if TYPE_CHECKING:
    from mdmem.config.settings import Settings
    from mdmem.edit import Guard
    from mdmem.models import Embedder
    from mdmem.models import EmbedderSettings as ModelSettings


class Roster(NamedTuple):
    """Every scope folder to be indexed, and the project folders that are not: (path, why)."""

    scopes: list[Scope]
    untrusted: list[tuple[str, str]]


class App:
    """One person's mdmem on this machine."""

    def __init__(self, paths: Paths | None = None) -> None:
        self.paths = paths or find_paths()
        self.projects = Projects(self.paths.scopes_file)
        self._known_same: dict[Project, tuple[int, int]] = {}  # projects looked at -> what their `.git` was then

    @cached_property
    def settings(self) -> Settings:
        return self._load_settings()

    def _load_settings(self) -> Settings:
        from mdmem.config.settings import load

        return load(self.paths.config_file)

    def reload_settings(self) -> None:
        """Read the config again. Raises ConfigError when it is broken; the settings known stay then."""
        self.settings = self._load_settings()

    # --- scopes -----------------------------------------------------------

    @property
    def user_scope(self) -> Scope:
        return Scope("user", None, _folder(self.settings.scopes.user, self.paths.user))

    @property
    def agents_folder(self) -> str:
        return _folder(self.settings.scopes.agents, self.paths.agents)

    @property
    def inbox_folder(self) -> str:
        """Where proposed memories wait: no scope folder, so nothing in it is indexed."""
        return _folder(self.settings.scopes.inbox, self.paths.inbox)

    def agent_scope(self, agent: str) -> Scope:
        """The scope of an agent, whether its folder is there yet or not. Raises UsageError for an unsafe id."""
        return Scope("agent", check_ref(agent), f"{self.agents_folder}/{agent}")

    def roster(self) -> Roster:
        """All scope folders, as the files say now. Raises ConfigError when scopes.toml or the config is broken."""
        scopes = [self.user_scope, *self._agent_scopes(), *self._mounts()]
        untrusted: list[tuple[str, str]] = []
        for project in self.projects.all():
            why = self._why_untrusted(project)
            if why:
                untrusted.append((f"{project.root}/{PROJECT_FOLDER}", why))
            else:
                scopes += _checkouts(project)
        return Roster(list({scope.folder: scope for scope in scopes}.values()), untrusted)

    def _agent_scopes(self) -> list[Scope]:
        try:
            names = sorted(e.name for e in os.scandir(self.agents_folder) if e.is_dir(follow_symlinks=False))
        except OSError:
            return []
        return [self.agent_scope(name) for name in names if _is_ref(name)]

    def _mounts(self) -> list[Scope]:
        mounts = self.settings.scopes.mounts
        return [Scope(m.scope, m.ref or None, os.path.realpath(os.path.expanduser(m.path)), True) for m in mounts]

    def _why_untrusted(self, project: Project) -> str | None:
        if not project.trusted:
            return "not trusted here"
        folder = f"{project.root}/{PROJECT_FOLDER}"
        if os.path.lexists(folder) and not files.real_folder(Path(folder), Path(project.root)):
            return "the scope folder is a link or no folder"
        if not project.repository and not project.inode:
            return None
        repository, place = (files.birth(path) for path in (Path(project.root, ".git"), Path(project.root)))
        if place is None or any(_is_surely(project, found) for found in (repository, place)):
            return None  # away for now, or what was trusted
        stamp = _git_stamp(project.root)
        if stamp is not None and self._known_same.get(project) == stamp:
            return None  # looked at before
        if not _is_same(project, repository or place):
            if repository is None:
                return "what was trusted here is gone, and this is no repository"
            return "another repository lies here than the one that was trusted"
        if stamp is not None:
            self._known_same[project] = stamp
        return None

    def caller(self, cwd: str | None, agent: str | None = None, roster: Roster | None = None) -> list[Scope]:
        """The scopes a caller may see: user, the trusted project around its working directory, its own agent scope."""
        roster = roster or self.roster()
        scopes = [s for s in roster.scopes if s.kind == "user"]
        project = self.project_of(cwd, roster)
        if project is not None:
            scopes.append(project)
        if agent:
            check_ref(agent)
            scopes += [s for s in roster.scopes if s.kind == "agent" and s.ref == agent]
        return scopes

    def project_of(self, cwd: str | None, roster: Roster | None = None) -> Scope | None:
        """The trusted project scope that a working directory lies in; None outside one."""
        root = project_root(cwd) if cwd else None
        folder = f"{root}/{PROJECT_FOLDER}"
        scopes = (roster or self.roster()).scopes
        return next((s for s in scopes if s.kind == "project" and s.folder == folder), None)

    def is_current(self, scope: Scope) -> bool:
        """Whether a scope's folder is still one, as the files say at this moment. Raises ConfigError as `roster`."""
        return any(found.folder == scope.folder for found in self.roster().scopes)

    def untrusted_at(self, cwd: str | None, roster: Roster | None = None) -> str | None:
        """The scope folder around a working directory that is there but not trusted; None when all is well."""
        root = project_root(cwd) if cwd else None
        folder = f"{root}/{PROJECT_FOLDER}"
        if root is None or not os.path.isdir(folder) or self.project_of(cwd, roster) is not None:
            return None
        if os.path.realpath(folder) == os.path.realpath(self.paths.data):
            return None  # MDMEM_HOME=~/.mdmem: ours, and no project's
        return folder

    def target(self, kind: str | None, cwd: str | None, agent: str | None) -> Scope:
        """The scope that a new memory goes to: as asked, else the project around `cwd`, else the user's."""
        if kind == "agent" or (kind is None and agent):
            if not agent:
                raise UsageError("which agent?", hint="name it with --agent ID")
            return self.agent_scope(agent)
        if kind == "user":
            return self.user_scope
        project = self.project_of(cwd)
        if project is not None:
            return project
        if kind == "project":
            raise self._no_project(cwd)
        return self.user_scope

    def scope_of(self, kind: str, ref: str | None, cwd: str | None) -> Scope:
        """The scope that a proposed memory names; of several checkouts of a project the one around `cwd`, if it is one.

        Raises UsageError for a ref that is none, NotFoundError and UntrustedError for a project.
        """
        if kind == "user":
            return self.user_scope
        if kind == "agent":
            return self.agent_scope(ref or "")
        roster = self.roster()
        here = self.project_of(cwd, roster)
        fitting = [scope for scope in roster.scopes if (scope.kind, scope.ref) == ("project", ref)]
        if here is not None and here in fitting:
            return here
        if fitting:
            return fitting[0]
        known = next((project for project in self.projects.all() if project.ref == ref), None)
        if known is not None:
            raise self._untrusted(f"{known.root}/{PROJECT_FOLDER}")
        raise NotFoundError(f"no project {ref!r} is known here", hint="run mdmem init in it, and try again")

    def _untrusted(self, folder: str) -> Exception:
        root = os.path.dirname(folder)
        return UntrustedError(
            "the project's memories are not trusted here",
            where=folder,
            hint=f"look at them, then: mdmem trust {shlex.quote(root)}",
        )

    def _no_project(self, cwd: str | None) -> Exception:
        untrusted = self.untrusted_at(cwd)
        if untrusted:
            return self._untrusted(untrusted)
        return NotFoundError("no project here", where=cwd, hint="make one with: mdmem init")

    def guard(self, agent: str | None) -> Guard:
        """What this caller may write, by the grants of its role; checked before a file is touched."""
        from mdmem.recall.grants import check_writing

        grants, where = self.settings.recall.grants, self.paths.config_file
        return lambda memory: check_writing(grants, agent, memory.type, memory.domain, where=where)

    # --- trust ------------------------------------------------------------

    def trust(self, root: str) -> tuple[Scope, bool]:
        """Know and trust a project at a place; its scope, and whether it is new here."""
        repository = git.repository(Path(root))
        commit = git.first_commit(repository) if repository else None
        inode, born = files.birth(Path(root, ".git")) or files.birth(Path(root)) or (0, 0)
        project, new = self.projects.put(root, trusted=True, repository=commit or "", inode=inode, born=born)
        return Scope("project", project.ref, f"{root}/{PROJECT_FOLDER}"), new

    def untrust(self, root: str) -> Scope:
        """Trust a project no longer; its memories leave the index. Raises NotFoundError when it isn't known."""
        known = self.projects.find(root)
        if known is None:
            raise NotFoundError("this project is not known here", where=root, hint="see: mdmem status")
        self.projects.put(root, trusted=False, repository=known.repository, inode=known.inode, born=known.born)
        return Scope("project", known.ref, f"{root}/{PROJECT_FOLDER}")

    # --- parts ------------------------------------------------------------

    def embedder(self) -> Embedder | None:
        """The embedder that the config names; None where there is none. Loads no weights yet."""
        from mdmem.models import make_embedder  # a question of words alone has no use for it

        return make_embedder(self.model_settings())

    def model_settings(self) -> ModelSettings:
        from mdmem.models import EmbedderSettings as ModelSettings

        s = self.settings.embedder
        key = _api_key(s.api_key_env, s.api_key_command) if s.model == "openai" else None
        return ModelSettings(
            model=s.model,
            url=s.url,
            name=s.name,
            api_key=key,
            timeout_s=s.timeout_s,
            query_prefix=s.query_prefix,
            passage_prefix=s.passage_prefix,
            batch=s.batch,
            dimensions=s.dimensions,
        )

    def check_layout(self, roster: Roster) -> None:
        """Nothing of our own may lie in a scope folder: it would be committed, and wake the watch for ever.

        Nor the inbox and the agents' folders: what waits for review would be recalled, and what is one agent's alone
        would be everyone's.
        """
        ours = (self.paths.state, self.paths.runtime, self.paths.scopes_file, self.inbox_folder, self.agents_folder)
        for own in ours:
            real = os.path.realpath(own)
            for scope in roster.scopes:
                if f"{real}/".startswith(f"{scope.folder}/"):
                    raise ConfigError(
                        f"{own} lies inside the scope folder {scope.folder}",
                        where=self.paths.config_file,
                        hint="choose another folder for one of them",
                    )

    def prepare_folders(self) -> None:
        """The private folders that every run needs."""
        files.shared_folder(Path(self.paths.data))
        for folder in (self.paths.state, self.paths.runtime, os.path.dirname(self.paths.socket)):
            files.private_folder(Path(folder))
        if self.settings.scopes.user and os.path.isdir(self.user_scope.folder):
            return  # a folder of one's own choice may be shared with others: its mode is theirs to decide
        try:
            files.private_folder(Path(self.user_scope.folder))
        except MachineError:
            if not os.path.isdir(self.user_scope.folder):
                raise
            # On a read-only disk its mode stays as it is; memories can be read there all the same.


def _folder(chosen: str | None, usual: str) -> str:
    return os.path.realpath(os.path.expanduser(chosen)) if chosen else os.path.realpath(usual)


def _is_ref(name: str) -> bool:
    try:
        check_ref(name)
    except UsageError:
        return False
    return True


def _git_stamp(root: str) -> tuple[int, int] | None:
    """(inode, change time in ns) of a project's `.git`; None where there is none."""
    try:
        stat = os.stat(f"{root}/.git")
    except OSError:
        return None
    return stat.st_ino, stat.st_ctime_ns


def _is_surely(project: Project, found: tuple[int, int] | None) -> bool:
    """Whether something is what was trusted, by a birth that nothing else can have."""
    return found is not None and bool(found[1]) and found == (project.inode, project.born)


def _is_same(project: Project, found: tuple[int, int]) -> bool:
    """Whether the repository at a project's place, or the place itself, is what was trusted, as far as can be known."""
    inside = git.repository(Path(project.root)) if os.path.lexists(f"{project.root}/.git") else None
    if found[0] == project.inode and 0 in (found[1], project.born):
        # The file system tells no births, and an inode is given again to what is made next.
        if not project.repository:
            return True
        return inside is not None and git.holds(inside, project.repository) is not False
    if inside is None or not project.repository:
        return False
    return git.first_commit(inside) == project.repository


def _checkouts(project: Project) -> list[Scope]:
    """The project's own folder and those of the linked worktrees of its repository."""
    scopes = [Scope("project", project.ref, f"{project.root}/{PROJECT_FOLDER}")]
    repository = git.repository(Path(project.root))
    if repository is not None:
        for top in git.worktrees(repository.common_dir):
            folder = f"{os.path.realpath(top)}/{PROJECT_FOLDER}"
            if files.real_folder(Path(folder), top):
                scopes.append(Scope("project", project.ref, folder))
    return scopes


def _api_key(variable: str | None, command: str | None) -> str | None:
    import subprocess

    from mdmem.config.paths import secret

    if variable:
        key = secret(variable)
        if key is None:
            raise ConfigError(f"the variable {variable} is not set", hint="embedder.api_key_env names it")
        return key
    if not command:
        return None
    try:
        done = subprocess.run(shlex.split(command), capture_output=True, text=True, timeout=30, check=True)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise ConfigError("embedder.api_key_command failed", hint="run it by hand to see why") from error
    return done.stdout.strip() or None
