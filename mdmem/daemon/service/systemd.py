"""A launcher and variables in, a user unit out; and systemd asked to follow it."""

from __future__ import annotations

import re

from mdmem import __version__
from mdmem.config.service import units_folder
from mdmem.daemon.service.manager import Running, digest, must, pid_of, run, said, template
from mdmem.errors import MachineError

UNIT = "mdmem.service"
_MARK = "# mdmem {version}, {digest}\n"
_MARKED = re.compile(rb"# mdmem ([^ \n]+), ([0-9a-f]{64})\n")
# systemd takes no program with one of these in its path, however it is quoted; as an argument anything goes.
_UNSAFE = re.compile(r"[\x00-\x1f\x7f'\"\\]")
_THROUGH_SHELL = """/bin/sh -c 'exec "$0" "$@"'"""


class Systemd:
    """systemd, for this person."""

    name = "systemd"
    log_hint = f"journalctl --user -u {UNIT}"

    def __init__(self) -> None:
        self.path = f"{units_folder()}/{UNIT}"

    def render(self, launcher: str, variables: dict[str, str]) -> bytes:
        text = template(f"systemd/{UNIT}").removeprefix("@MARK@\n")
        lines = [f"Environment={quote(f'{name}={value}')}\n" for name, value in variables.items()]
        text = text.replace("@ENVIRONMENT@\n", "".join(lines)).replace("@COMMAND@", command(launcher))
        body = text.encode()
        return _MARK.format(version=__version__, digest=digest(__version__, body)).encode() + body

    def is_ours(self, text: bytes) -> bool:
        mark = _MARKED.match(text)
        return mark is not None and digest(mark[1].decode(), text[mark.end() :]) == mark[2].decode()

    def launcher_of(self, text: bytes) -> str | None:
        found = re.search(r'^ExecStart=:(?:.*\' )?(".*") daemon$', text.decode("utf-8", "replace"), re.MULTILINE)
        return unquote(found[1]) if found else None

    def reach(self) -> None:
        hint = "mdmem up starts the daemon without it"
        try:
            done = run(["systemctl", "--user", "show", "--property=Version"])
        except MachineError as error:
            error.hint = hint
            raise
        if done.returncode != 0:
            raise MachineError(
                f"your systemd cannot be reached: {said(done)}",
                hint=f"log in as yourself, not by su or sudo, where systemd runs; {hint}",
            )

    def running(self) -> Running:
        names = "ActiveState,SubState,MainPID,UnitFileState"
        told = run(["systemctl", "--user", "show", UNIT, f"--property={names}"]).stdout
        state = re.search(r"^ActiveState=(.*)$", told, re.MULTILINE)
        return Running(
            re.search(r"^UnitFileState=enabled$", told, re.MULTILINE) is not None,
            state[1] if state else "unknown",
            pid_of(told, r"^MainPID=(\d+)$"),
        )

    def start(self, *, anew: bool) -> None:
        hint = f"see: {self.log_hint}"
        must(["systemctl", "--user", "daemon-reload"], hint=hint)
        must(["systemctl", "--user", "enable", UNIT], hint=hint)
        run(["systemctl", "--user", "reset-failed", UNIT])  # earlier failures must not count against this start
        must(["systemctl", "--user", "restart" if anew else "start", UNIT], hint=hint)

    def stop(self) -> None:
        must(["systemctl", "--user", "disable", "--now", UNIT], hint=f"see: {self.log_hint}")

    def forget(self) -> None:
        must(["systemctl", "--user", "daemon-reload"], hint="systemctl --user daemon-reload")
        run(["systemctl", "--user", "reset-failed", UNIT])


def lingers() -> bool | None:
    """Whether this person's services outlive a logout; None when that can't be told."""
    import getpass

    try:
        done = run(["loginctl", "show-user", getpass.getuser(), "--property=Linger"])
    except (MachineError, KeyError, OSError):
        return None
    answer = done.stdout.strip()
    return answer == "Linger=yes" if done.returncode == 0 and answer.startswith("Linger=") else None


def command(launcher: str) -> str:
    """The beginning of ExecStart. The colon: no `$` in it means a variable."""
    if _UNSAFE.search(launcher):
        return f":{_THROUGH_SHELL} {quote(launcher)}"
    return f":{quote(launcher)}"


def quote(text: str) -> str:
    """One word of a unit's line (systemd.syntax(7)). Raises MachineError for bytes that are no UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise MachineError("systemd takes no name that is not UTF-8", where=ascii(text), hint="rename it") from error
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda found: f"\\x{ord(found[0]):02x}", escaped) + '"'


def unquote(word: str) -> str:
    """What `quote` was given."""
    plain = word[1:-1].replace("%%", "%")
    return re.sub(r"\\(?:x([0-9a-f]{2})|(.))", lambda found: chr(int(found[1], 16)) if found[1] else found[2], plain)
