"""A plugin that pytest loads first: it keeps the garbage collector from looking at modules and tests."""

import gc

# Nothing to collect while modules are imported. Later, a test leaves little garbage behind.
gc.disable()
gc.set_threshold(50_000, 20, 20)


def pytest_collection_finish() -> None:
    """Keep the garbage collector from looking through all modules and tests again and again.

    Without collecting first, which takes a second in each process and finds little.
    """
    gc.freeze()
    gc.enable()
