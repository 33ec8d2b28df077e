"""What an exit code proves, held against bash itself, and that nothing makes the reader raise."""

from __future__ import annotations

import re
import shlex
import subprocess
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mdmem.candidates import shell
from mdmem.candidates.grammar import parse
from mdmem.candidates.words import tokens

CASES = {
    "a": "a",
    "a && b && c": "a b c",
    "a; b": "b",
    "a\nb\n": "b",
    "a | b": "b",
    "a && b | c": "a c",
    "a && b 2>&1 | tail -2": "a tail",
    "a |& b": "b",
    "a || b": "",
    "a || true": "",
    "a && b || c": "",
    "a || b && c": "c",
    "a &": "",
    "a & b": "b",
    "a && b &": "",
    "! a": "",
    "! a && b": "b",
    "time a": "a",
    "time -p a": "a",
    "(a && b)": "a b",
    "(a; b)": "b",
    "(a; b) && c": "b c",
    "{ a; b; }; c": "c",
    "{ a && b; } > log": "a b",
    "if a; then b; fi": "",
    "if a; then b; fi; c": "c",
    "for x in 1 2; do a; done": "",
    "while a; do b; done; c": "c",
    "until a; do b; done && c": "c",
    "case $x in a|b) c ;; (d) e ;; *) f; esac; g": "g",
    "f() { a; }; f": "",
    "function f { a; }; f; b": "b",
    "npm() { true; }; npm test": "",
    "set -e; a; b": "a b",
    "set -e\na\nb && c\nd": "a d",
    "set -e; a || b; c": "c",
    "set -e; ! a; c": "c",
    "set -e; set +e; a; b": "b",
    "set -o errexit; a; b": "a b",
    "set -eo pipefail; a | b; c": "a b c",
    "set -euo pipefail\na | b\nc | d": "a b c d",
    "set -o pipefail; a | b": "a b",
    "set -o pipefail && a | b": "a b",
    "set -e; (a; b); c": "a b c",
    "set -e; (a; b) || c; d": "d",
    "(set -e; a; b) && c": "b c",
    "a || exit 1; b": "a b",
    "a || exit; b": "",
    "a || exit 0; b": "",
    "a || exit 256; b": "",
    "a || { echo no >&2; exit 2; }; b": "a b",
    "a && b || exit 1\nc": "a b c",
    "a; exit 0": "",
    "a; exit $?": "",
    "exit; a": "",
    "(exit 0; a)": "",
    "if a; then exit 0; fi; b": "",
    "if a; then exit 1; fi; b": "b",
    "set -n; a": "",
    "exec a": "a",
    "exec a; b": "",
    "exec 2>log; a": "a",
    "trap 'exit 0' ERR; a": "",
    "trap 'rm -f x' EXIT; a": "a",
    "bash -c 'a && b'": "a b",
    "bash -lc 'cd x && a'": "cd a",
    "bash -ec 'a; b'": "a b",
    "bash -euo pipefail -c 'a | b'": "a b",
    "bash -nc a": "bash",
    "sh ./deploy.sh x": "./deploy.sh",
    "sh -c 'a; b' && c": "b c",
    "eval 'a && b'": "a b",
    "sudo -u www env X=1 timeout -k 5 30 nice -n 5 a": "a",
    "nohup a > log 2>&1 &": "",
    "xargs a < list": "xargs",
    "echo x | xargs a": "xargs",
    "ssh h 'a && b'": "ssh a b",
    "ssh h 'a; b'": "ssh b",
    "ssh -i key -p 22 u@h a b": "ssh a",
    "ssh h": "ssh",
    "docker exec -it db a": "a",
    "kubectl exec -n x pod -- a": "a",
    "npx a": "a",
    "python3 -m a.b -q": "a.b",
    "python -c 'import a'": "python",
    "mise exec node@20 -- a && b": "a b",
    "a exec b": "a",
    "uv run --with x python -m a": "a",
    "a # && b": "a",
    "# a": "",
    "a \\\n  --x && b": "a b",
    "a &&\n  b": "a b",
    "a <<'EOF' && b\nit's; x && y\nEOF\n": "a b",
    "cat <<EOF | a && b\n$(x)\nEOF": "a b",
    "a <<-E\n\tx\n\tE\nb": "b",
    "git commit -m \"$(cat <<'EOF'\nfix: it's (done\nEOF\n)\" && a": "git a",
    "x=$(a) && b": "b",
    "X=1 Y='2 3' a": "a",
    "X=(1 2); a": "a",
    "[[ -f x && -d y ]] && a": "a",
    "[ -f x ] && a": "[ a",
    "(( n > 1 )) && a": "a",
    "a 'x": "",
    'a "$(b"': "",
    "a && ": "",
    "a ) b": "",
    "a <<EOF": "",
    "a `b": "",
    "if ($?) { a }": "",
    "a; if ($LASTEXITCODE -eq 0) { b }": "",
    "$env:X = 'y'; a": "a",
    "": "",
    "a\0b": "a\0b",
}


@pytest.mark.parametrize(("command", "names"), CASES.items(), ids=map(repr, CASES))
def test_what_an_exit_of_zero_proves(command: str, names: str) -> None:
    script = shell.read(command)

    assert [c.argv[0] for c in shell.proved(script, 0) if c.argv[0] != "set"] == names.split()
    assert shell.proved(script, 1) == ()


@pytest.mark.parametrize(
    ("command", "cwd"),
    [
        ("cd web && a", "web"),
        ("cd web; cd ../api; a", "api"),
        ("cd /srv/x/ && a", "/srv/x"),
        ("(cd web && b); a", ""),
        ("cd - && a", None),
        ('cd "$DIR" && a', None),
        ("cd && a", "~"),
        ("pushd x && a", "x"),
        ("pushd x && b && popd && a", None),
        ("cd x | b; a", ""),
        ("if b; then cd x; fi; a", None),
    ],
)
def test_where_a_command_runs(command: str, cwd: str | None) -> None:
    assert shell.read(command).proved[-1].cwd == cwd


def test_words_come_as_the_program_gets_them() -> None:
    command = r"""A=1 psql "$URL" -c 'select "x"' a\ b $'t\n' "q\"$(date)" ${Y:-z} >out 2>&1 <in"""

    [found] = shell.read(command).proved
    assert found.argv == ("psql", "$URL", "-c", 'select "x"', "a b", "t\n", 'q"$(date)', "${Y:-z}")
    assert found.env == ("A=1",)
    assert found.redirections == ((">", "out"), (">&", "1"), ("<", "in"))


@pytest.mark.parametrize(
    ("command", "env"),
    [
        ("export A=1 && a", ("A=1",)),
        ("export A=1 B=2; export -p C; a", ("A=1", "B=2")),
        ("export A=1; B=2 A=3 a", ("B=2", "A=3")),
        ("export A=1; export A=2; a", ("A=2",)),
        ("export A=1 B=2; unset A; a", ("B=2",)),
        ("(export A=1; b); a", ()),
        ("export A=1 | b; a", ()),
        ("export PATH=$PATH:/x; a", ()),
        ("export A=1; sudo a", ("A=1",)),
        ("export A=1; bash -c a", ("A=1",)),
        ("export A=1; ssh host a", ()),
        ("export A=1; docker exec web a", ()),
        ("A=1; a", ()),
    ],
)
def test_what_was_exported_before_holds_for_a_command(command: str, env: tuple[str, ...]) -> None:
    assert shell.read(command).proved[-1].env == env


def test_a_command_inside_another_says_where_it_runs() -> None:
    ssh, cd, up = shell.read("ssh -p 22 ops@h 'cd /srv && docker compose up -d'").proved

    assert (ssh.via, cd.via, up.via, up.cwd) == ((), ("ssh", "ops@h"), ("ssh", "ops@h"), "/srv")


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12), min_size=1, max_size=6))
def test_quoted_words_come_back(words: list[str]) -> None:
    assert [token.text for token in tokens(shlex.join(words)) if token.kind == "word"] == words


@settings(max_examples=400)
@given(st.text(st.sampled_from("ab \n\t\r\"'$(){}[]<>|&;`\\#!=-E~*é\0")) | st.text())
def test_no_text_makes_it_raise(text: str) -> None:
    script = shell.read(text)

    assert script.whole or not script.proved


PIECES = "a |( |) |{ |; |} |& |\n|<<E |E\n|'|\"|$( |`|${|if |then |fi;|case |in |esac |do |done;|! |[[ |]] |(( |\\"


@given(st.lists(st.sampled_from([*PIECES.split("|"), "||", "|", "&&"]), max_size=60).map("".join))
def test_no_pieces_of_shell_make_it_raise(text: str) -> None:
    shell.read(text)


@pytest.mark.parametrize(
    "filler", ["(", "$(", '"$(', "`", "<<A ", "{ ", "if ", "${", "'", "a && ", "\0", "|", "<", "&"]
)
def test_time_grows_with_length_alone(filler: str) -> None:
    def cost(n: int) -> float:
        text = (filler * n)[:n]
        return min(timed(lambda: shell.read(text)) for _ in range(3))

    assert cost(32_000) < 16 * cost(8_000) + 0.05


def timed(act: Callable[[], object]) -> float:
    begun = time.perf_counter()
    act()
    return time.perf_counter() - begun


def test_what_is_longer_than_64_kib_proves_nothing() -> None:
    assert shell.read("a" + " b" * 32_760).proved
    assert not shell.read("a" + " b" * 32_770).whole


# Held against bash: r ID STATUS writes down that it ran and ends so.
STATUSES = st.sampled_from(["0", "0", "1"])


def scripts() -> st.SearchStrategy[str]:
    """Scripts of `r N S`, the N filled in afterwards."""
    leaf = STATUSES.map(lambda status: f"r @ {status}")

    def grow(inside: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        joined = st.tuples(inside, st.sampled_from([" && ", " || ", " | ", "; ", "\n", " & "]), inside)
        flags = st.sampled_from(["set -e", "set -o pipefail", "set -eo pipefail", "set +e", "cd ."])
        quoted = st.tuples(st.sampled_from(["-c", "-ec", "-eo pipefail -c"]), inside.filter(lambda s: "'" not in s))
        ending = st.sampled_from(["exit 1", "exit 0", "exit", "{ r @ 0; exit 3; }", "true"])
        return st.one_of(
            joined.map("".join),
            inside.map(lambda s: f"( {s} )"),
            inside.map(lambda s: f"{{ {s}\n}}"),
            inside.map(lambda s: f"! {{ {s}\n}}"),
            st.tuples(flags, inside).map("; ".join),
            st.tuples(inside, ending, inside).map(lambda t: f"{{ {t[0]}\n}} || {t[1]}; {t[2]}"),
            st.tuples(inside, inside).map(lambda t: f"if {t[0]}\nthen {t[1]}\nfi"),
            st.tuples(inside, inside).map(lambda t: f"f() {{ {t[0]}\n}}; f && {t[1]}"),
            quoted.map(lambda t: f"bash {t[0]} '{t[1]}'"),
        )

    return st.recursive(leaf, grow, max_leaves=8).map(number)


def number(script: str) -> str:
    parts = script.split("@")
    return parts[0] + "".join(f"{n}{part}" for n, part in enumerate(parts[1:]))


BASH = 'exec 3>&1; r() { echo "ran $1 $2" >&3; return $2; }; export -f r'


def run_all(lines: list[str]) -> list[tuple[int, set[str]]]:
    """Of each script its status, and which of its commands ran and ended with 0."""
    each = "\n".join(f'( eval {shlex.quote(line)} ); echo "end $?" >&3' for line in lines)
    done = subprocess.run(["bash", "-c", f"{BASH}\n{each}"], capture_output=True, text=True, timeout=60, check=False)
    found: list[tuple[int, set[str]]] = []
    good: set[str] = set()
    for line in done.stdout.splitlines():
        if match := re.fullmatch(r"ran (\d+) (\d+)", line):
            good |= {match[1]} if match[2] == "0" else set()
        elif match := re.fullmatch(r"end (\d+)", line):
            found.append((int(match[1]), good))
            good = set()
    return found


@settings(max_examples=25, deadline=None)
@given(st.lists(scripts(), min_size=20, max_size=20))
def test_bash_agrees_with_what_is_proved(lines: list[str]) -> None:
    lines = [line for line in lines if " & " not in line or "|" not in line]  # what runs aside may write late
    for line, (status, good) in zip(lines, run_all(lines), strict=True):
        script = shell.read(line)
        proved = {c.argv[1] for c in shell.proved(script, status) if c.argv[0] == "r"}

        assert script.whole, line
        assert proved <= good, line


def test_a_plain_chain_is_a_tree_of_its_own() -> None:
    [chain] = parse("a && b | c || d").chains

    assert [len(pipe.parts) for pipe in chain.pipes] == [1, 2, 1]
    assert chain.operators == ("&&", "||")
