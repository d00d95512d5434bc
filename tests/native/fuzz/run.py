"""Run fuzz targets of compiled code one after another: ``make fuzz-native``.

A target passes if it ends with status 0, has executed at least one input, and no sanitizer has reported
anything. What a target prints is kept in BUILD/TARGET.log.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import subprocess
import sys
from pathlib import Path

_CORPUS = Path(__file__).parent / "corpus"
_MAX_OVERTIME_SECONDS = 1800  # libFuzzer itself ends an input after 1200
_SHOWN_LINES = 40  # of the log of a target that fails


def command_of(target: str, build: Path, seconds: int, seed: int, libfuzzer: bool) -> list[str]:
    """The command that runs a target for some seconds; new inputs that reach new code go to BUILD/corpus."""
    program, corpus = str(build / target), str(_CORPUS / target)
    if not libfuzzer:  # main.cpp
        return [program, corpus, str(seconds), str(seed)]
    found = build / "corpus" / target
    found.mkdir(parents=True, exist_ok=True)
    return [
        program, f"-max_total_time={seconds}", "-max_len=2000", "-close_fd_mask=1", f"-seed={seed}",
        f"-artifact_prefix={build}/", str(found), corpus,
    ]  # fmt: skip


def run(command: list[str], log: Path, seconds: int) -> int | None:
    """Run a command with its output in a log; returns its exit status, or None if it did not end in time."""
    with log.open("w") as output:
        try:
            return subprocess.run(
                command, stdout=output, stderr=subprocess.STDOUT, timeout=seconds + _MAX_OVERTIME_SECONDS
            ).returncode
        except subprocess.TimeoutExpired:
            return None
        except OSError as error:
            output.write(f"{error}\n")
            return 127


def judge(status: int | None, text: str) -> tuple[int, str]:
    """How many inputs a target has executed, and why it fails, if it does."""
    executed = sum(int(count) for count in re.findall(r"^Done (\d+) runs", text, re.MULTILINE))
    if status is None:
        return executed, "did not end"
    if status != 0:
        return executed, f"ended with status {status}"
    if re.search(r"ERROR:|runtime error", text):
        return executed, "a sanitizer reported an error"
    if executed == 0:
        return executed, "reported no executed input"
    return executed, ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="+", metavar="TARGET", help="a program in BUILD")
    parser.add_argument("--build", type=Path, required=True, help="the folder of the programs")
    parser.add_argument("--minutes", type=float, required=True, help="for all targets together")
    parser.add_argument("--seed", type=int, default=None, help="printed, so that a run can be repeated")
    parser.add_argument("--libfuzzer", action="store_true", help="the programs were linked with libFuzzer")
    options = parser.parse_args()
    if not 0 < options.minutes < math.inf:
        parser.error(f"--minutes must be positive, got {options.minutes:g}")
    seconds = math.ceil(60 * options.minutes / len(options.targets))  # whole ones: 0 is no limit to libFuzzer
    seed = random.SystemRandom().randrange(1, 2**32) if options.seed is None else options.seed
    print(f"--seed {seed}", flush=True)
    failed = []
    for target in options.targets:
        log = options.build / f"{target}.log"
        command = command_of(target, options.build, seconds, seed, options.libfuzzer)
        status = run(command, log, seconds)
        text = log.read_text(errors="replace")
        executed, failure = judge(status, text)
        print(f"{target}: {executed:,} inputs in {seconds} s" + (f"; FAILED: {failure}" if failure else ""))
        if failure:
            failed.append(target)
            print(f"  {' '.join(command)}", *text.splitlines()[-_SHOWN_LINES:], f"  see {log}", sep="\n")
        sys.stdout.flush()
    names = f": {', '.join(failed)}" if failed else ""
    print(f"{len(failed)} of {len(options.targets)} fuzz targets failed{names}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
