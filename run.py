"""Run the software company: `python run.py --help` tells how."""

from chatdev.cli import main

raise SystemExit(main())
