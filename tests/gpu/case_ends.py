"""However the program ends, its status stays its own, and all that was complete is in the profile, but for secrets."""
TITLE = "exit, _exit, quick_exit, abort, SIGKILL, a kernel that hangs"
ORDER, LIMIT_S = 80, 120
ENDS = {"exit": 7, "_exit": 7, "quick_exit": 7, "abort": -6, "kill": -9}
LAUNCHES = 20000


def run(box):
    for how, status in ENDS.items():
        profile, done = box.profile(f"ends-{how}", [box.program("gpu_launcher"), how, str(LAUNCHES)], 40, None)
        kernels = box.one(profile, "SELECT count(*) FROM kernel")
        box.row(f"{how}: status", done.status, "", str(status), done.status == status)
        box.row(f"{how}: kernels kept of {LAUNCHES}", kernels, "rows", "" if how in ("kill", "abort") else "all",
                None if how in ("kill", "abort") else kernels == LAUNCHES)
        box.row(f"{how}: profile", box.one(profile, "PRAGMA integrity_check"), "", "ok", box.one(profile, "PRAGMA integrity_check") == "ok")
    secret(box)
    hang(box)


def secret(box):
    """What looks like a secret on the command line is in no file that we write."""
    word = "hf_" + "Q7x" * 8
    profile, _ = box.profile("ends-secret", [box.program("gpu_launcher"), "exit", "100", f"--hf-token={word}"], 40, (7,))
    page, trace = box.path("ends-secret.html"), box.path("ends-secret.json")
    box.run([box.gpuprof, "report", "-f", "-o", page, profile])
    box.run([box.gpuprof, "export", "-f", "-o", trace, profile])
    leaks = [path for path in (profile, page, trace) if word.encode() in open(path, "rb").read()]
    box.row("files that contain a token of the command line", len(leaks), "of 3", "0", not leaks)


def hang(box):
    """A kernel that never ends is killed from outside, as a user or a scheduler would."""
    if box.virtual:
        box.row("hang", "not rehearsed: kernels of the virtual GPU end by themselves")
        return
    profile, done = box.profile("ends-hang", ["timeout", "-s", "KILL", "8", box.program("gpu_launcher"), "hang", str(LAUNCHES)], 60,
                                None, **box.libraries())
    kernels = box.one(profile, "SELECT count(*) FROM kernel")
    box.row("hang: status of the killed program", done.status)
    box.row(f"hang: kernels kept of {LAUNCHES}", kernels, "rows", ">= 90 %", kernels >= 0.9 * LAUNCHES)
