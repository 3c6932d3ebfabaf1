#!/usr/bin/env python3
"""The cases of check.py whose figures a busy machine changes, rehearsed on the virtual GPU: each must run to its end and measure
something. Whether it meets its aims is for a card to say. usage: rehearsal.py BUILD
"""
import json
import os
import subprocess
import sys

CASES = ("agent", "calibrate", "cupti", "truth")


def main():
    build = os.path.abspath(sys.argv[1])
    out = os.path.join(build, "gpu-rehearsal-long")
    check = os.path.join(os.path.dirname(os.path.abspath(__file__)), "check.py")
    subprocess.run([sys.executable, check, build, out, "--device", "virtual:h200", *CASES], check=False)
    with open(os.path.join(out, "result.json"), encoding="utf-8") as f:
        bad = [f"{c['case']}: {c['status']}, {len(c['rows'])} rows {c['why']}" for c in json.load(f)["cases"]
               if c["status"] != "ran" or not c["rows"]]
    print("\n".join(bad) or f"rehearsal: {len(CASES)} cases ran")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
