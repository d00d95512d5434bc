"""Run commands of the command line in this process."""

import os
from dataclasses import dataclass

import pytest

from actup._cli import main
from small_files import write_kind


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    status: int
    out: str
    err: str


@pytest.fixture
def run(capsys):
    def run_command(*arguments):
        capsys.readouterr()
        status = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Ran(status, captured.out, captured.err)

    return run_command


@pytest.fixture
def rejected(run, tmp_path):
    """Run a command that must fail: one line on standard error, exit status 2, no new file."""

    def run_command(*arguments):
        before = sorted(os.listdir(tmp_path))
        ran = run(*arguments)
        assert ran.status == 2
        assert ran.err.startswith("actup: ") and ran.err.count("\n") == 1 and "Traceback" not in ran.err
        assert ran.out == ""
        assert sorted(os.listdir(tmp_path)) == before
        return ran.err

    return run_command


@pytest.fixture
def iris(tmp_path):
    """Iris as a csv file with a column of text."""
    return write_kind("csv", tmp_path)
