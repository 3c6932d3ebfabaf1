"""Whether a program outlives that CUPTI is turned off, which CUPTI 13.0.1 did not always let it (docs/measurements).

gpuprof does not turn that one off unless GPUPROF_CUPTI_PAUSES=1. A crash came in the first pause, seconds after its begin; so many
short programs run side by side, each with a pause of four seconds behind its start."""
import concurrent.futures
import sqlite3
import time

from box import PAUSES

TITLE = "programs in which recording stops and starts: does CUPTI crash them"
ORDER, LIMIT_S = 30, 150
PROGRAM = ["--depth", "18", "--batch", "16", "--image", "96", "--data", "fixed", "--host-overhead-us", "60", "--steps", "660"]
AT_ONCE, SECONDS = 8, 75


def run(box):
    end = time.monotonic() + (10 if box.virtual else SECONDS)
    program = [box.program("train_conv"), *PROGRAM]
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        found = [r for rows in pool.map(lambda i: again_and_again(box, program, i, end), range(2 if box.virtual else AT_ONCE)) for r in rows]
    crashed = [status for status, _ in found if status != 0]
    box.row("programs run", len(found), "", "at least 1", bool(found))
    box.row("windows recorded", sum(n for _, n in found))
    box.row(f"ended otherwise than with 0 {sorted(set(crashed)) or ''}", len(crashed), "programs", "0", not crashed)


def again_and_again(box, program, i, end):
    """(status, windows) of each run that began before `end`."""
    rows = []
    while not rows or time.monotonic() < end:
        path, done = box.profile(f"pauses-{i}", program, 60, good=None, options=["--every", "300", "--window", "20"], **PAUSES)
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
            rows.append((done.status, db.execute("SELECT count(*) FROM recorded").fetchone()[0]))
    return rows
