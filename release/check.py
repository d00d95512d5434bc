"""Check all that must be green before a release: ``make release-check`` runs this script.

Each step ends as ``ok``, ``FAILED`` or ``NOT REACHED``: a service of the network did not answer, or this
system cannot start a process without a network, in which the source distribution is built. A step that was
not reached is no failure, and has not passed either: it has to be run elsewhere. With ``--online``, as in
continuous integration, it is a failure.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import http.client
import json
import platform
import re
import sys
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import Distribution, distributions
from pathlib import Path

import sdist
import wheel
from commands import (
    DIST,
    REQUIREMENTS,
    ROOT,
    WHEEL_ENVIRONMENT,
    WORK,
    Failure,
    NotReached,
    build_environment,
    pip,
    python_of,
    run,
    tool,
)

_RECIPE = ROOT / "release" / "conda" / "recipe.yaml"
# What conda-forge sets for all recipes, as far as this one depends on it.
_VARIANTS = {"python": ["3.11.*", "3.12.*"], "c_stdlib": ["sysroot"], "c_stdlib_version": ["2.28"]}
_WAITS_S = (0, 5, 20)  # before each time that a page is asked for
_CLASSIFIERS = {  # of packages without a licence expression
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}


def project() -> dict[str, object]:
    """The project table of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def check_version(_: str) -> list[str]:
    """One version stands everywhere; a tagged commit has its number, a date in the changelog, no changes."""
    version = str(project()["version"])
    places = {
        "src/actup/__init__.py": f'__version__ = "{version}"',
        "CITATION.cff": f"version: {version}\n",
        "CHANGELOG.md": f"## {version} (",
        "docs/install.md": f"# {version} (",
        "release/conda/recipe.yaml": f'version: "{version}"',
    }
    wrong = [
        place
        for place, text in places.items()
        if not re.search(rf"(?<![\w-]){re.escape(text)}", (ROOT / place).read_text("utf-8"))
    ]
    if wrong:
        raise Failure(f"pyproject.toml has version {version}; these do not: {', '.join(wrong)}")
    notes = [f"version {version} in pyproject.toml, {', '.join(places)}"]
    unfinished = []
    if f"## {version} (unreleased)" in (ROOT / "CHANGELOG.md").read_text("utf-8"):
        unfinished.append("CHANGELOG.md says (unreleased): set the date in the commit that is tagged")
    notes.append(f"commit {run('git', 'rev-parse', '--short=12', 'HEAD').strip()}")
    changed = run("git", "status", "--porcelain").strip()
    if changed:
        unfinished.append(f"{len(changed.splitlines())} files differ from the commit: commit before you tag")
    tags = run("git", "tag", "--points-at", "HEAD", "--list", "v*").split()
    if tags and tags != [f"v{version}"]:
        unfinished.append(f"the tag of this commit must be v{version}, not {', '.join(tags)}")
    if tags and unfinished:
        raise Failure("\n".join(unfinished))
    return [*notes, *unfinished]


def check_sdist(python: str) -> list[str]:
    """The source distribution."""
    built = sdist.build(python)
    notes = sdist.check(built)
    try:
        return [*notes, sdist.install_offline(built, python)]
    except NotReached as reason:
        raise NotReached("\n".join([*notes, str(reason)])) from None


def check_wheel(python: str) -> list[str]:
    """A wheel of this system."""
    built = wheel.build(python)
    return [*wheel.check(built), wheel.test(built, python)]


def site_packages(executable: Path) -> Path:
    """Where an environment keeps its packages."""
    if not executable.exists():
        raise Failure("the wheel was not installed: see above")
    return Path(run(executable, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())


def licence_of(package: Distribution) -> str:
    """The licence that a package's metadata name, as an SPDX expression if they can be read so."""
    metadata = package.metadata
    if expression := metadata.get("License-Expression"):
        return expression
    licences = [name for name in metadata.get_all("Classifier", []) if name.startswith("License ::")]
    names = [name.split(" :: ")[-1] for name in licences]
    found = [_CLASSIFIERS.get(name, name) for name in names if name != "OSI Approved"]
    return " AND ".join(found) or str(metadata.get("License", "unknown")).splitlines()[0]


def check_licences(python: str) -> list[str]:
    """Every package that a wheel needs or is built with has an allowed licence."""
    rules = tomllib.loads((ROOT / "release" / "licences.toml").read_text("utf-8"))
    wrong, seen = [], {}
    for executable in (python_of(WHEEL_ENVIRONMENT), build_environment(python)):
        for package in distributions(path=[str(site_packages(executable))]):
            seen[package.name] = rules["packages"].get(package.name, {}).get("licence") or licence_of(package)
    for name, licence in sorted(seen.items()):
        unknown = set(re.split(r" (?:AND|OR) |[()]", licence)) - {"", *rules["allowed"]}
        if unknown:
            wrong.append(f"{name}: {licence}")
    if wrong:
        raise Failure("licences that release/licences.toml does not allow:\n" + "\n".join(wrong))
    return [f"{len(seen)} packages: {', '.join(sorted(set(seen.values())))}"]


def check_compiled_in(python: str) -> list[str]:
    """THIRD_PARTY_LICENSES has the licences of what the pinned nanobind compiles into the engine."""
    text = _words((ROOT / "THIRD_PARTY_LICENSES").read_text("utf-8"))
    package = _nanobind(python)
    files = package.files or []
    licences = {"nanobind": [package.read_text("licenses/LICENSE") or ""], "robin-map": []}
    for file in files:  # which has its licence as the first comment of each file
        if file.match("robin_map/include/tsl/*.h"):
            comment = re.match(r"\s*/\*\*?(.*?)\*/", file.read_text("utf-8"), re.DOTALL)
            licences["robin-map"].append(
                re.sub(r"^ \*", "", comment[1], flags=re.MULTILINE) if comment else ""
            )
    for name, found in licences.items():
        if not found or "" in map(_words, found):
            raise Failure(
                f"the licence of {name} is not where nanobind {package.version} is expected to have it"
            )
        if not all(_words(licence) in text for licence in found):
            raise Failure(
                f"THIRD_PARTY_LICENSES does not have the licence of {name} in nanobind {package.version}"
            )
    return [f"nanobind {package.version} and its robin-map"]


def _nanobind(python: str) -> Distribution:
    """The pinned nanobind, which is compiled into the engine together with its robin-map."""
    packages = distributions(path=[str(site_packages(build_environment(python)))])
    (package,) = (package for package in packages if package.name == "nanobind")
    return package


def compiled_in_components(package: Distribution) -> list[dict[str, object]]:
    """What a wheel holds in compiled form besides ActUp, as components of an SBOM."""
    texts = [
        file.read_text("utf-8")
        for file in package.files or []
        if file.match("robin_map/include/tsl/robin_growth_policy.h")
    ]
    numbers = re.findall(r"define TSL_RH_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", "".join(texts))
    if len(numbers) != 3:
        raise Failure(f"nanobind {package.version} does not say which robin-map it has")
    robin_map = ".".join(numbers)
    return [
        {
            "type": "library",
            "bom-ref": f"{name}=={version}",
            "name": name,
            "version": version,
            "description": "compiled into the engine",
            "purl": f"{purl}@{version}",
            "licenses": [{"license": {"id": licence}}],
        }
        for name, version, purl, licence in (
            ("nanobind", package.version, "pkg:pypi/nanobind", "BSD-3-Clause"),
            ("robin-map", robin_map, "pkg:github/Tessil/robin-map", "MIT"),
        )
    ]


def _words(text: str) -> str:
    """A text without its line breaks and indentation."""
    return " ".join(text.split())


def write_sboms(python: str) -> list[str]:
    """Lists of what a wheel holds and runs with (extras plot and cli), and of what builds it, in dist/."""
    version = project()["version"]
    common = ["--output-reproducible", "--output-format", "JSON", "--pyproject", ROOT / "pyproject.toml"]
    written = []
    for name, source in {
        "runtime": ["environment", python_of(WHEEL_ENVIRONMENT)],
        "build": ["requirements", REQUIREMENTS / "build.txt"],
    }.items():
        path = DIST / f"actup-{version}.{name}.cdx.json"
        run(tool("cyclonedx-py"), *source, *common, "--output-file", path)
        components = json.loads(path.read_text("utf-8"))
        if name == "runtime":
            components["components"] += compiled_in_components(_nanobind(python))
            path.write_text(json.dumps(components, indent=2) + "\n", encoding="utf-8")
        written.append(f"{path.name}: {len(components['components'])} components")
    return written


def check_vulnerabilities(_: str) -> list[str]:
    """No package that a wheel needs or is built with has a known vulnerability."""
    notes = []
    for name, source in {
        "run-time packages": ["--path", site_packages(python_of(WHEEL_ENVIRONMENT))],
        "build requirements": ["--require-hashes", "--disable-pip", "-r", REQUIREMENTS / "build.txt"],
    }.items():
        report = WORK / "pip-audit.json"
        report.unlink(missing_ok=True)
        command = [tool("pip-audit"), "--progress-spinner", "off", "--format", "json", "--output", report]
        try:
            run(*command, *source)
        except Failure as failure:
            if not report.exists():
                raise NotReached(str(failure).strip().splitlines()[-1]) from None
        found = json.loads(report.read_text("utf-8"))["dependencies"]
        # pip-audit skips packages that the service does not answer for, and ends well all the same.
        skipped = [entry["name"] for entry in found if "skip_reason" in entry and entry["name"] != "actup"]
        if skipped:
            raise NotReached(f"the service did not answer for {', '.join(skipped)}")
        vulnerable = [
            f"{entry['name']} {entry['version']}: {bug['id']}, fixed in {bug['fix_versions']}"
            for entry in found
            for bug in entry.get("vulns", [])
        ]
        if vulnerable:
            raise Failure("\n".join(vulnerable))
        notes.append(f"{name}: {len(found)} without known vulnerabilities")
    return notes


def check_recipe(_: str) -> list[str]:
    """conda-forge's recipe can be rendered; dist/recipe.yaml has the hash of the source distribution."""
    from rattler_build import Stage0Recipe, VariantConfig

    archive = DIST / f"actup-{project()['version']}.tar.gz"
    if not archive.exists():
        raise Failure("there is no source distribution: see above")
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    text = _RECIPE.read_text("utf-8").replace("SHA256_OF_THE_SOURCE_DISTRIBUTION", digest)
    path = DIST / _RECIPE.name
    path.write_text(text, encoding="utf-8")
    try:
        rendered = Stage0Recipe.from_file(path).render(VariantConfig(_VARIANTS))
    except Exception as error:  # rattler-build has many kinds
        raise Failure(f"{_RECIPE.name}: {error}") from error
    return [f"rattler-build renders {path.name} into {len(rendered)} packages; hash {digest[:12]}…"]


def check_links(_: str) -> list[str]:
    """Links of the pages: those inside the repository lead somewhere, addresses in the network answer."""
    executable = python_of(WHEEL_ENVIRONMENT)
    pip(executable, "install", "pytest")
    links = ["relative_link", "index_lists", "navigation_leads"]
    run(
        executable, "-m", "pytest", "-q", "--noconftest", "-p", "no:cacheprovider",
        "tests/test_docs.py", "-k", " or ".join(links),
    )  # fmt: skip
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    addresses = sorted(
        {found for page in pages for found in re.findall(r"\]\((https?://[^)#\s]+)", page.read_text("utf-8"))}
    )
    # The project's own pages need not be there before its first release.
    own = tuple(str(url).rstrip("/") for url in project()["urls"].values())
    addresses = [address for address in addresses if not address.startswith(own)]
    with ThreadPoolExecutor(8) as pool:
        answers = dict(zip(addresses, pool.map(answer, addresses), strict=True))
    unreached = [address for address, status in answers.items() if status is None]
    gone = [f"{address}: {status}" for address, status in answers.items() if status in (404, 410)]
    if gone:
        raise Failure("\n".join(gone))
    if unreached:
        count = f"{len(unreached)} of {len(addresses)} addresses"
        raise NotReached(f"links inside are right; {count} did not answer: {', '.join(unreached)}")
    return [f"links inside, and {len(addresses)} addresses"]


def answer(address: str) -> int | None:
    """The status of a page, or None if its server does not answer, asked three times."""
    request = urllib.request.Request(address, method="HEAD", headers={"User-Agent": "actup-release-check"})
    for wait in _WAITS_S:
        time.sleep(wait)
        try:
            with urllib.request.urlopen(request, timeout=20) as reply:
                return int(reply.status)
        except urllib.error.HTTPError as error:
            return error.code
        except (OSError, http.client.HTTPException):
            continue
    return None


STEPS: dict[str, Callable[[str], list[str]]] = {
    "version": check_version,
    "source distribution": check_sdist,
    "wheel": check_wheel,
    "licences": check_licences,
    "compiled-in licences": check_compiled_in,
    "SBOM": write_sboms,
    "vulnerabilities": check_vulnerabilities,
    "conda recipe": check_recipe,
    "links": check_links,
}


def main() -> None:
    """Run all steps, and write what they found into dist/release-check.txt."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="the interpreter that the wheel is for")
    parser.add_argument("--online", action="store_true", help="steps that are not reached are failures")
    parser.add_argument("--step", action="append", choices=STEPS, help="run this step alone; may be repeated")
    options = parser.parse_args()
    DIST.mkdir(exist_ok=True)
    day = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    lines = [f"Release check, {day}, {platform.system()} {platform.machine()}"]
    counts = {"ok": 0, "FAILED": 0, "NOT REACHED": 0}
    print(lines[0], flush=True)
    for name in options.step or STEPS:
        try:
            status, notes = "ok", STEPS[name](options.python)
        except Failure as failure:
            status, notes = "FAILED", [str(failure)]
        except NotReached as reason:
            status, notes = "NOT REACHED", [str(reason)]
        counts[status] += 1
        indented = [" " * 13 + line for note in notes for line in note.splitlines()]
        step = "\n".join([f"{status:<12} {name}", *indented])
        print(step, flush=True)
        lines.append(step)
    lines.append(", ".join(f"{count} {status}" for status, count in counts.items()))
    print(lines[-1])
    (DIST / "release-check.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    sys.exit(counts["FAILED"] > 0 or (options.online and counts["NOT REACHED"] > 0))


if __name__ == "__main__":
    main()
