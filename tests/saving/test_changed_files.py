"""Loading changed files never crashes, hangs or fails otherwise; ``make fuzz-files`` tries 20,000."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "saved_files.py"


def test_changed_files_are_rejected_or_load():
    command = [sys.executable, str(SCRIPT), "--cases", "300", "--seed", "test"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "no crash, no hang, no other error" in result.stdout
