"""The wheel by itself is enough to run the command."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Wheel and sdist, built from a clean copy of the tracked sources."""
    folder = tmp_path_factory.mktemp("dist")
    done = subprocess.run(
        [sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)], capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return folder


def test_wheel_holds_the_package_and_nothing_else(built: Path):
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "memcheck_cli/py.typed" in names
    assert {"memcheck_cli", "memcheck_cli-0.1.0.dist-info"} == {name.split("/")[0] for name in names}
    shipped = {name for name in names if name.endswith(".json")}
    assert shipped == {f"memcheck_cli/schemas/{path.name}" for path in (ROOT / "memcheck_cli/schemas").glob("*.json")}


def test_sdist_builds_too(built: Path):
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
    assert any(name.endswith("/pyproject.toml") for name in names)
    assert any(name.endswith("/memcheck_cli/cli/analyze.py") for name in names)


def test_wheel_alone(built: Path, tmp_path: Path):
    """In an environment of its own: the wheel, its dependencies taken from here, and no checkout in sight."""
    (wheel,) = built.glob("*.whl")
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    subprocess.run(
        [python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", wheel],
        check=True,
        timeout=300,
        capture_output=True,
    )
    site = sysconfig.get_path("purelib", vars={"base": str(tmp_path / "venv")})
    # The dependencies of this environment, without the editable checkout that is installed in it.
    here = Path(sysconfig.get_path("purelib"))
    wanted = ("click", "rich", "markdown_it", "mdurl", "pygments", "numpy", "numpy.libs", "zstandard")
    for name in wanted:
        if (here / name).exists():
            (Path(site) / name).symlink_to(here / name)
    command = tmp_path / "venv" / "bin" / "memcheck"
    done = subprocess.run(
        [command, "analyze", str(ROOT / "samples" / "lost-page.log")],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("BROKEN")
    where = subprocess.run(
        [python, "-c", "import memcheck_cli; print(memcheck_cli.__file__)"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert str(tmp_path) in where.stdout
