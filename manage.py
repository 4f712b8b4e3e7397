#!/usr/bin/env python
"""The command line of CogniReview: `manage.py up`, `manage.py --help`."""

from cognireview.__main__ import main

if __name__ == "__main__":
    main()
