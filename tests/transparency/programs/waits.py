"""Says which signals arrive, in which order and how often. `default` leaves the signals alone; `twice` saves at the first
and leaves at the second."""
import os
import signal
import sys
import time

mode = sys.argv[1] if len(sys.argv) > 1 else ""
NAMES = ("TERM", "INT", "HUP", "USR1", "USR2", "WINCH", "QUIT", "CONT", "ALRM")
got = []


def touch(name):
    open(name, "w").close()


def handler(number, frame):
    name = signal.Signals(number).name
    got.append(name)
    os.write(1, f"got {name}\n".encode())
    if mode == "twice" and len(got) == 2:
        os.write(1, b"leaves without its checkpoint\n")
        os._exit(75)
    touch(f"got{len(got)}")


def main():
    if mode != "default":
        for name in NAMES:
            signal.signal(getattr(signal, "SIG" + name), handler)
    print("waiting", flush=True)
    touch("ready")
    enough = int(os.environ.get("SIGNALS", "1"))
    until = time.monotonic() + 60
    while len(got) < enough and time.monotonic() < until:
        time.sleep(0.01)
    quiet = time.monotonic() + 0.7  # one that comes twice comes soon
    while time.monotonic() < quiet:
        time.sleep(0.01)
    if mode == "twice":
        touch("checkpoint")
    print("got", got)
    sys.exit(len(got))


main()
