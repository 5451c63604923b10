"""The store: an append-only history of labelled scores (no texts), and immutable numbered snapshots.

One SQLite file in WAL mode: several processes may fit and read at once. A fit is one transaction; where it
fails, the store is as it was.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from calibration import CalibrationError
from calibration.fit import fit
from calibration.labels import LABEL_SOURCE, Group, Response
from calibration.snapshot import REFIT, SCHEMA, Snapshot, from_json, to_json

_APPLICATION = 0x55414344
_WAIT = 60.0  # seconds, for another process to finish its fit
_TABLES = (
    """CREATE TABLE responses (
        run TEXT NOT NULL, position INTEGER NOT NULL, task TEXT NOT NULL, began TEXT NOT NULL,
        subtask TEXT NOT NULL, model TEXT NOT NULL, logprob_kind TEXT NOT NULL, selection TEXT NOT NULL,
        signal TEXT NOT NULL, u REAL NOT NULL, outcome TEXT NOT NULL, PRIMARY KEY (run, position)
    ) WITHOUT ROWID""",
    "CREATE TABLE snapshots (number INTEGER PRIMARY KEY AUTOINCREMENT, record TEXT NOT NULL)",
    """CREATE TRIGGER immutable BEFORE UPDATE ON snapshots
        BEGIN SELECT RAISE(ABORT, 'a snapshot is never changed'); END""",
    f"PRAGMA application_id = {_APPLICATION}",
    f"PRAGMA user_version = {SCHEMA}",
)


class Store:
    """An open store; get it from `open_store`."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    def learn(self, responses: Iterable[Response], method: str, alpha: float) -> Snapshot:
        """Add `responses` to the history and learn a snapshot from all of it.

        A run that is there already is not added again. Raises CalibrationError, the store untouched.
        """
        with self._transaction():
            self._connection.executemany(
                "INSERT OR IGNORE INTO responses VALUES (?,?,?,?,?,?,?,?,?,?,?)",
                ((r.run, r.position, r.task, r.began, *r.group, r.u, r.outcome) for r in responses),
            )
            thresholds = fit(self.history(), method, alpha)
            moment = datetime.now(timezone.utc).isoformat(timespec="seconds")
            return self._append(Snapshot(0, None, moment, method, alpha, LABEL_SOURCE, thresholds))

    def add(self, snapshot: Snapshot) -> Snapshot:
        """Add a snapshot learnt elsewhere; it gets a number of this store."""
        with self._transaction():
            return self._append(snapshot)

    def history(self) -> Iterator[Response]:
        """Every response, from the oldest run to the newest."""
        groups: dict[tuple[str, ...], Group] = {}
        for row in self._connection.execute("SELECT * FROM responses ORDER BY began, run, position"):
            run, position, task, began, *names, u, outcome = row
            group = groups.setdefault(tuple(names), Group(*names))
            yield Response(run, position, task, began, group, u, outcome)

    def snapshot(self, number: int | None = None) -> Snapshot | None:
        """The snapshot of this number; without one the newest, None where nothing was learnt yet.

        Raises CalibrationError where there is none of this number.
        """
        rows = dict(self._connection.execute("SELECT number, record FROM snapshots ORDER BY number"))
        if number is None:
            number = max(rows, default=None)
        if number is None:
            return None
        if number not in rows:
            raise CalibrationError(
                f"{self.path} has no snapshot #{number}, but {', '.join(map(str, rows)) or 'none'}."
            )
        return from_json(rows[number], f"Snapshot #{number} of {self.path}")

    def _append(self, snapshot: Snapshot) -> Snapshot:
        (parent,) = self._connection.execute("SELECT max(number) FROM snapshots").fetchone()
        numbered = replace(snapshot, number=(parent or 0) + 1, parent=parent)
        self._connection.execute("INSERT INTO snapshots VALUES (?, ?)", (numbered.number, to_json(numbered)))
        return numbered

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            yield

    def prepare(self) -> None:
        """Make the tables of a new store. Raises CalibrationError where the file is something else."""
        if self._is_empty():
            with self._transaction():
                if self._is_empty():
                    for statement in _TABLES:
                        self._connection.execute(statement)
        (application,) = self._connection.execute("PRAGMA application_id").fetchone()
        (schema,) = self._connection.execute("PRAGMA user_version").fetchone()
        if application != _APPLICATION:
            raise CalibrationError(f"{self.path} is a database of something else.")
        if schema != SCHEMA:
            raise CalibrationError(f"{self.path} has schema {schema}, but this version reads {SCHEMA}. {REFIT}")

    def _is_empty(self) -> bool:
        return not self._connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


@contextmanager
def open_store(path: Path, *, create: bool = False) -> Iterator[Store]:
    """Open the store in `path`. Raises CalibrationError, naming the file, for all that goes wrong in it."""
    try:
        if create:
            path.parent.mkdir(parents=True, exist_ok=True)
        elif not path.is_file():
            raise CalibrationError(
                f"There is no store {path}. Make one: python -m calibration fit WAREHOUSE --store {path}"
            )
        with closing(sqlite3.connect(path, timeout=_WAIT, isolation_level=None)) as connection:
            store = Store(path, connection)
            store.prepare()
            _write_ahead(connection)
            yield store
    except (sqlite3.Error, OSError) as error:
        raise CalibrationError(f"The store {path} cannot be used: {error}") from error


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Change a new store to WAL. SQLite waits for nobody there, so whoever is at work in it is waited for here."""
    end = time.monotonic() + _WAIT
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > end:
                raise
            time.sleep(0.01)
