"""The examples of the README run as they stand."""

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_every_python_block_runs(tmp_path, monkeypatch, capsys):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.S)
    assert len(blocks) >= 2
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks:
        exec(compile(block, str(README), "exec"), names)
    assert "knn_accuracy" in capsys.readouterr().out
    assert (tmp_path / "maps.png").stat().st_size > 10_000
    assert (tmp_path / "maps.html").stat().st_size > 10_000
