"""What is built is complete: sdist, the wheel built from it, and an installation used from somewhere else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import placetui
from placetui import resources

ROOT = Path(__file__).parents[2]

ASK = """
import importlib.metadata, json
import placetui
from placetui import resources
package = importlib.metadata.distribution("placetui")
print(json.dumps({
    "package": placetui.__file__,
    "themes": [path.name for path in resources.themes()],
    "samples": [path.name for path in resources.samples()],
    "version": package.version,
    "metadata": package.metadata.json,
    "scripts": {point.name: point.value for point in package.entry_points if point.group == "console_scripts"},
}))
"""


def run(command: Sequence[str | Path], cwd: Path) -> str:
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def pip(*arguments: str | Path, cwd: Path) -> None:
    run([sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments], cwd)


@dataclass(frozen=True)
class Built:
    """The artefacts, and what an installation of the wheel says of itself."""

    sdist_members: frozenset[str]
    """Paths below the sdist's own top folder."""

    wheel: Path
    environment: Path
    answers: dict[str, Any]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    work = tmp_path_factory.mktemp("packaging")
    elsewhere = work / "elsewhere"
    elsewhere.mkdir()

    # The build backend's own hook, as pip and build call it; then the wheel from nothing but the sdist.
    hook = "import sys, hatchling.build; print(hatchling.build.build_sdist(sys.argv[1]))"
    sdist = work / run([sys.executable, "-c", hook, work], cwd=ROOT).split()[-1]
    with tarfile.open(sdist) as archive:
        members = frozenset(name.partition("/")[2] for name in archive.getnames())
    pip("wheel", "--no-deps", "--no-index", "--no-build-isolation", "--wheel-dir", work, sdist, cwd=elsewhere)
    (wheel,) = work.glob("*.whl")

    environment = work / "environment"
    venv.create(environment, symlinks=True)
    python = environment / "bin" / "python"
    pip("--python", python, "install", "--no-deps", "--no-index", wheel, cwd=elsewhere)
    # The dependencies of the running environment, behind the wheel on the path; .pth files in there have no effect.
    site_packages = Path(
        run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], elsewhere).strip()
    )
    (site_packages / "dependencies.pth").write_text(
        "\n".join(sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})), encoding="utf-8"
    )
    return Built(members, wheel, environment, json.loads(run([python, "-c", ASK], cwd=elsewhere)))


def test_sdist_is_complete_and_holds_nothing_else(built: Built) -> None:
    wanted = {"LICENSE", "README.md", "CHANGELOG.md", "Makefile", "pyproject.toml", "placetui/py.typed"}
    assert wanted <= built.sdist_members
    strange = {".venv", ".git", "dist", "build", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis"}
    assert strange.isdisjoint(member.partition("/")[0] for member in built.sdist_members)
    assert not any("__pycache__" in member for member in built.sdist_members)


def test_installed_wheel_is_what_answers(built: Built) -> None:
    assert Path(built.answers["package"]).is_relative_to(built.environment)


def test_installed_wheel_finds_themes_and_samples(built: Built) -> None:
    assert built.answers["themes"] == [path.name for path in resources.themes()]
    assert built.answers["samples"] == [path.name for path in resources.samples()]
    assert built.answers["samples"]


def test_metadata(built: Built) -> None:
    metadata = built.answers["metadata"]
    assert built.answers["version"] == placetui.__version__
    assert built.answers["scripts"] == {"placetui": "placetui.cli:main"}
    assert metadata["requires_python"] == ">=3.10"
    assert metadata["license_expression"] == "Apache-2.0"
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in range(10, 14)} <= set(metadata["classifier"])


def test_the_page_of_serve_is_installed(built: Built) -> None:
    page = Path(built.answers["package"]).parent / "web" / "page"
    assert {path.name for path in page.iterdir()} == {"index.html", "page.css", "start.js"}


def test_types_are_published(built: Built) -> None:
    assert Path(built.answers["package"]).with_name("py.typed").is_file()


def test_installed_command_checks_an_installed_sample(built: Built, tmp_path: Path) -> None:
    sample = next(path for path in resources.samples() if not path.name.startswith("broken-"))
    installed = Path(built.answers["package"]).parent / "sample_configs" / sample.name
    run([built.environment / "bin" / "placetui", "check", installed], cwd=tmp_path)


@pytest.fixture(scope="module")
def installers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with pip, pipx and uvx; they come from the package index, without which nobody can install anything."""
    environment = tmp_path_factory.mktemp("installers") / "environment"
    venv.create(environment, symlinks=True)
    command = [sys.executable, "-m", "pip", "--python", environment / "bin" / "python", "install", "pip", "pipx", "uv"]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300)
    if done.returncode:
        pytest.skip(f"no package index here: {done.stderr.strip().splitlines()[-1]}")
    return environment / "bin"


@pytest.mark.slow
@pytest.mark.parametrize("way", ["pip", "pipx", "uvx"])
def test_the_ways_to_install_in_the_readme(way: str, built: Built, installers: Path, tmp_path: Path) -> None:
    """As the README has them, with the wheel in the place of the checkout and with all dependencies."""
    told = (ROOT / "README.md").read_text(encoding="utf-8")
    command: list[str | Path] = [installers / "placetui"]
    surroundings = dict(os.environ, PIPX_HOME=str(tmp_path / "pipx"), PIPX_BIN_DIR=str(tmp_path / "bin"))
    surroundings |= {"UV_CACHE_DIR": str(tmp_path / "cache"), "PATH": f"{installers}{os.pathsep}{os.environ['PATH']}"}

    def answer(*words: str | Path) -> str:
        done = subprocess.run(
            [str(word) for word in words], cwd=tmp_path, env=surroundings, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    if way == "pip":
        assert "\npip install .\n" in told
        answer(installers / "pip", "install", built.wheel)
    elif way == "pipx":
        assert "\npipx install .\n" in told
        answer(installers / "pipx", "install", built.wheel)
        command = [tmp_path / "bin" / "placetui"]
    else:
        assert "\nuvx --from . placetui check" in told
        command = [installers / "uvx", "--from", built.wheel, "placetui"]
    versions = answer(*command, "--version")
    assert versions.startswith(f"placetui {placetui.__version__}\n")
    assert "ray 2." in versions
    answer(*command, "check", ROOT / "sample_configs" / "collocated.yaml")
