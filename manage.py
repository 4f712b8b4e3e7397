#!/usr/bin/env python
"""The command line of CogniReview: `manage.py up`, `manage.py help`."""

from cognireview.command_line import main

if __name__ == "__main__":
    main()
