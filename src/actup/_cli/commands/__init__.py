"""The commands, one file each: a function ``command`` that takes records of options."""
