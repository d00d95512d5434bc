"""The model of memory: which arrays of a run are in memory at a time, and how large they are.

One function per stage lists the moments at which much is in memory, each as named arrays. Whoever needs to
know what a run takes asks here: ``actup.memory_estimate``, ``max_memory``, the command line and
``actup.distributed``. ``benchmarks/memory_estimates.py`` compares the model with what is measured.
"""
