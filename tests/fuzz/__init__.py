"""Random calls and changed files that must not crash, hang or fail in undocumented ways: ``make fuzz``."""
