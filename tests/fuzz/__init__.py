"""Random calls and changed files that must never crash, hang or fail in an undocumented way: ``make fuzz``."""
