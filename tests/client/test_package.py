"""The client package: its imports and its data frames."""

import importlib
import subprocess
import sys

import pytest

from cognireview.client import CogniReviewError, to_pandas, to_polars
from cognireview.environment import BASE_DIR
from cognireview.types.runs import Members

# The client with httpx2 and what that needs, and without everything else.
_IMPORTED = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in sys.stdlib_module_names and top not in {allowed}:
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Refuse())
import cognireview.client
print(sorted({{name.partition(".")[0] for name in sys.modules}} & {{"django", "reviews", "pydantic"}}))
"""
_ALLOWED = {"cognireview", "httpx2", "httpcore2", "h11", "anyio", "idna", "truststore", "typing_extensions"}


@pytest.mark.slow
def test_client_imports_httpx2_and_the_standard_library_only() -> None:
    program = _IMPORTED.format(allowed=_ALLOWED)
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        cwd=BASE_DIR,
        env={"PYTHONPATH": "."},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_missing_data_frame_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, frame in (("pandas", to_pandas), ("polars", to_polars)):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(CogniReviewError, match=f"pip install {name}"):
            frame([])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frame_has_a_row_for_each_object(library: str) -> None:
    pytest.importorskip(library, reason="heavy, and so only with `uv run --group recipes`")
    frame = getattr(importlib.import_module("cognireview.client"), f"to_{library}")
    rows = [Members("a", None), {"run": "b", "members": ["ana"]}]
    found = frame(rows)
    assert [*found["run"]] == ["a", "b"]
    assert [*found.columns] == ["run", "members"]
