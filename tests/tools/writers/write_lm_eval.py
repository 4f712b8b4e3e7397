"""Run the command of lm-evaluation-harness without its own thousands of tasks: `python FILE OPTION ...`."""

from functools import partialmethod

from lm_eval.__main__ import cli_evaluate
from lm_eval.tasks import TaskManager

TaskManager.__init__ = partialmethod(TaskManager.__init__, include_defaults=False)
cli_evaluate()
