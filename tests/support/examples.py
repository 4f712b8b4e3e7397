"""How many random examples tests try. `--hypothesis-profile=thorough` tries more."""

from hypothesis import settings

# The duration of an example depends on the machine.
settings.register_profile("short", deadline=None, max_examples=25)
settings.register_profile("thorough", deadline=None, max_examples=1_000)
settings.load_profile("short")
