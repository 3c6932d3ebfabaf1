#!/usr/bin/env python3
"""Measures what recording adds to a launch for the thread that makes it, when 1, 4, 16 and 64 threads launch at once: without and
with recording, in turn, as processor time of the thread that needed least. The difference includes the cost of CUPTI (here the
virtual one); `agent_cost` measures the agent's own cost. Usage: storm.py BUILD [ROUNDS]."""
import os
import re
import subprocess
import sys
import tempfile

THREADS, LAUNCHES, AIM = (1, 4, 16, 64), 320000, 0.3


def us_per_launch(build, folder, threads, record):
    command = [os.path.join(build, "bin", "gpuprof"), "run", "-q", "-f", "--device", "virtual:h100"]
    command += ["-o", os.path.join(folder, "x.gpuprof")] if record else ["--no-record"]
    command += ["--", os.path.join(build, "bin", "programs", "storm"), str(threads), str(LAUNCHES // threads // 4)]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return float(re.search(r"us_per_launch=([0-9.]+)", out).group(1))


def main():
    build, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 4
    print("threads   bare us   with us   difference us   aim (CUPTI's part not counted)")
    with tempfile.TemporaryDirectory() as folder:
        for threads in THREADS:
            took = {False: [], True: []}
            for i in range(rounds):
                for record in (False, True)[::1 if i % 2 == 0 else -1]:
                    took[record].append(us_per_launch(build, folder, threads, record))
            bare, recorded = min(took[False]), min(took[True])
            print(f"{threads:7d}   {bare:7.3f}   {recorded:7.3f}   {recorded - bare:13.3f}   {AIM}")


if __name__ == "__main__":
    main()
