"""How children of this program end, seen by their parent, and then the end of this one."""
import os
import re
import subprocess
import sys

ENDS = {
    "returns": "print('x')", "exit 3": "import sys; sys.exit(3)", "exit text": "import sys; sys.exit('said')",
    "raises": "1 / 0", "abort": "import os; os.abort()", "_exit": "import os; os._exit(8)",
    "kill": "import os; os.kill(os.getpid(), 9)", "segv": "import ctypes; ctypes.string_at(0)",
    "term": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "interrupt": "import os, signal; os.kill(os.getpid(), signal.SIGINT); import time; time.sleep(9)",
    "syntax": "def", "recursion": "def f(): f()\nf()", "atexit": "import atexit; atexit.register(print, 'last'); raise SystemExit(4)",
    "atexit raises": "import atexit; atexit.register(lambda: 1 / 0)", "unraisable": "class A:\n def __del__(self): 1 / 0\nA()",
    "broken pipe": "import signal, os; signal.signal(13, signal.SIG_DFL); os.kill(os.getpid(), 13)",
    "alarm": "import signal; signal.alarm(1); signal.pause()", "memory": "x = 'a' * (1 << 62)",
    "faulthandler": "import faulthandler, ctypes; faulthandler.enable(); ctypes.string_at(0)",
    "thread exits": "import threading; threading.Thread(target=lambda: 1 / 0).start()",
}
for name, code in ENDS.items():
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    said = re.sub(r"0x[0-9a-f]+", "ADDRESS", done.stderr.decode()).split("Current thread")[0]
    print(name, done.returncode, done.stdout, said)
sys.stdout.flush()
os.kill(os.getpid(), 15)
