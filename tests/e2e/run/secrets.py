#!/usr/bin/env python3
"""No secret of a command line reaches a profile or anything that is written from it, and what is written has the
mode that the umask gives. With --redact nothing tells who ran it and where. Usage: secrets.py BUILD."""
import glob
import gzip
import os
import re
import shutil
import socket
import sqlite3
import stat
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(sys.argv[1])
GPUPROF, TRAIN = os.path.join(BUILD, "bin/gpuprof"), os.path.join(BUILD, "bin/train_conv")
failures = []
made = []  # the secrets that were planted


def secret(text="sEcReT%02dvalue"):
    made.append(text % len(made) if "%" in text else text)
    return made[-1]


def check(what, right, *details):
    if not right:
        failures.append(f"{what}: {details!r}"[:500])


def command():
    """A program that runs the trainer and has secrets in every form in its arguments, and in those of its child."""
    inner = (f"HF_TOKEN={secret()} WANDB_API_KEY={'0123456789abcdef' * 2 + '89abcdef'} DB_PASS=\"{secret()} {secret()}\" "
             f"exec {TRAIN} --steps 8")
    made.append("0123456789abcdef" * 2 + "89abcdef")
    return ["/bin/sh", "-c", inner, "sh", f"--hf-token={secret()}", "--api-key", secret(), f"--password={secret()} {secret()}",
            f"trainer.hub.token={secret()}", "--wandbApiKey", secret(), "-H", f"Authorization: Bearer {secret()}",
            "-H", f"X-Auth-Token: {secret()}", "--cookie", f"sid={secret()}; b={secret()}",
            f'{{"lr": 1, "client_secret": "{secret()}"}}', f"postgres://me:{secret()}@db/x", f"https://x/?a=1&token={secret()}&b=2",
            secret("hf_" "aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH"), secret("ghp_" "0123456789abcdefABCDEF0123456789abcd"),
            secret("AKIA" "IOSFODNN7EXAMPLE"), secret("sk-" "proj-abcdefgh1234567890ABCDEFGH"), secret("xox" "b-123456789012-abcdef"),
            secret("eyJhbGciOiJIUzI1NiJ9" ".eyJzdWIiOiIxMjM0In0.dozjgNryP4J3"),
            "-----BEGIN PRIVATE" " KEY-----\n" + secret("MIIEvQIBADANBgkqhkiG") + "\n-----END PRIVATE" " KEY-----",
            "--tokenizer", "keptTokenizer", "--max-tokens", "512", "--author", "keptAuthor", "--keyboard=keptKeyboard"]


def leaks(data):
    return [s for s in made if s.encode() in data]


def check_files(folder, what, words=()):
    """Every file below, whatever it is packed in, and who may read it."""
    files = [f for f in glob.glob(os.path.join(folder, "**"), recursive=True) if os.path.isfile(f)]
    check(what + ": files", len(files) > 0)
    for path in files:
        with open(path, "rb") as f:
            data = f.read()
        name = what + ": " + os.path.basename(path)
        check(name + ", mode", stat.S_IMODE(os.stat(path).st_mode) == 0o644, oct(os.stat(path).st_mode))
        texts = [data]
        if data[:2] == b"\x1f\x8b":
            texts.append(gzip.decompress(data))
        for packed in re.findall(rb'id="data">([A-Za-z0-9+/=\s]+)<', data):
            import base64
            texts.append(gzip.decompress(base64.b64decode(packed)))
        for text in texts:
            check(name, not leaks(text), leaks(text))
            for word in words:
                check(f"{name}, {word}", not re.search(rb"(?<!\w)" + re.escape(word.encode()) + rb"(?!\w)", text))


def write_all(run, profile, folder, *more):
    os.mkdir(folder)
    at = lambda name: os.path.join(folder, name)
    run("report", profile, "-o", at("page.html"), *more)
    refused = run("export", profile, "--format", "?", "-o", "-", right=(2,))
    for form in sorted({"text"} | set(re.search(r"the formats are (.*)", refused)[1].split(", ")) - {"csv"}):
        run("analyze", "-v", profile, "--format", form, "-o", at("analysis." + form), *more)
    run("export", profile, "-o", at("trace.json.gz"), *more)
    run("export", profile, "-o", at("trace.json"), *more)
    run("import", profile, "-o", at("again.gpuprof"), *more)
    run("reduce", profile, "-o", at("reduced.gpuprof"), *more)
    run("diff", profile, profile, "-o", at("diff.txt"), *more)
    run("gate", profile, profile, "--junit", at("gate.xml"), "--json", "-o", at("gate.json"), *more, right=(0, 1, 3))


def main():
    top = tempfile.mkdtemp()
    home = os.path.join(top, "home", "jane")
    os.makedirs(home)
    env = {**os.environ, "HOME": home, "USER": "janedoe", "LOGNAME": "janedoe"}
    old = os.umask(0o022)
    said = []

    def run(*args, right=(0,)):
        r = subprocess.run([GPUPROF, *args], capture_output=True, env=env, cwd=home)
        said.append(r.stdout + r.stderr)
        check(args[0], r.returncode in right, r.returncode, r.stderr[-300:])
        return (r.stdout + r.stderr).decode("utf-8", "replace")

    words = command()
    profile = os.path.join(home, "x.gpuprof")
    run("run", "--device", "virtual:h200", "-o", profile, "--report", "--", *words)
    check_files(home, "run")
    db = sqlite3.connect(profile)
    texts = " ".join(t for t, in db.execute("SELECT text FROM string"))
    for kept in ("--hf-token=***", "--max-tokens 512", "keptTokenizer", "keptAuthor", "keptKeyboard", "me:***@db", "HF_TOKEN=***"):
        check("kept", kept in texts, kept)
    db.close()
    write_all(run, profile, os.path.join(top, "written"))
    check_files(os.path.join(top, "written"), "written")

    # a profile that an older gpuprof, or somebody else, made
    plain = os.path.join(top, "plain")
    os.mkdir(plain)
    older = os.path.join(plain, "older.gpuprof")
    shutil.copy(profile, older)
    db = sqlite3.connect(older)
    for i, in db.execute("SELECT DISTINCT command FROM process").fetchall():
        db.execute("UPDATE string SET text = ? WHERE id = ?", (" ".join(words) + f" --seed {i}", i))
    for i, in db.execute("SELECT DISTINCT m.value FROM meta m JOIN string k ON k.id = m.key WHERE k.text = 'command'").fetchall():
        db.execute("UPDATE string SET text = ? WHERE id = ?", (" ".join(words) + f" --seed {i}", i))
    db.execute("UPDATE string SET text = text || ? WHERE id IN (SELECT name FROM kernel)", (" hf_" "aBcDeFgHiJkLmNoPqRsTuVwXyZaBcDeFgH",))
    db.commit()
    db.close()
    with open(older, "rb") as f:
        check("it has secrets", len(leaks(f.read())) > 10)
    # of a value with blanks in it the joined words do not tell the end
    torn = [s for s in made if f" {s}" in " ".join(words) and f"={s}" not in " ".join(words)]
    write_all(run, older, os.path.join(top, "older"))
    made_before = made[:]
    made[:] = [s for s in made if s not in torn or s.startswith(("hf_", "ghp_", "AKIA", "sk-", "xox", "eyJ"))]
    check_files(os.path.join(top, "older"), "an older profile")
    made[:] = made_before

    # --redact
    who = ("janedoe", "/home/jane", home, "--hf-token", "keptAuthor") + ((socket.gethostname(),) if len(socket.gethostname()) > 2 else ())
    private = os.path.join(home, "private")
    os.mkdir(private)
    run("run", "--redact", "--device", "virtual:h200", "-o", os.path.join(private, "y.gpuprof"), "--report", "--", *words)
    check_files(private, "run --redact", who)
    write_all(run, older, os.path.join(top, "redacted"), "--redact")
    check_files(os.path.join(top, "redacted"), "--redact", who)
    check("said", not leaks(b"".join(said)), leaks(b"".join(said)))
    os.umask(old)
    shutil.rmtree(top)
    for line in failures:
        print(line)
    print("secrets:", "ok" if not failures else f"{len(failures)} failures")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
