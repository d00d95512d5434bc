"""The help of a command in sections of plain text: names of options are long, and boxes would cut them."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand

_LAST_SECTION = "Other"


class SectionedCommand(TyperCommand):
    """A command whose help lists its options by the section that each of them names."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write one section of options after the other, arguments first."""
        sections: dict[str, list[tuple[str, str]]] = {"Arguments": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is None:
                continue
            is_argument = parameter.param_type_name == "argument"
            panel = "Arguments" if is_argument else getattr(parameter, "rich_help_panel", None)
            sections.setdefault(panel or _LAST_SECTION, []).append(record)
        others = sections.pop(_LAST_SECTION, [])
        for name, records in {**sections, _LAST_SECTION: others}.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records, col_max=26)
