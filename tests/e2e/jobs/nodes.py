"""Hosts of their own on one machine, for tests of launchers: names, networks and processes that nobody outside sees. All of it ends
with the script, however it ends. Needs root, unshare, nsenter and ip.
"""
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

HEAD, NETWORK, DEVICE = "head", "10.99.0.", "virtual:a100-80"
APART = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--mount", "--net", "--uts"]
MARK = "GPUPROF_TEST_APART"


def go_apart():
    """The script starts anew as process 2 of namespaces of its own. False: this may not be done here."""
    if os.environ.get(MARK):
        reap()
        return True
    if not shutil.which("ip") or not shutil.which("nsenter") or subprocess.run([*APART, "true"], capture_output=True, check=False).returncode:
        return False
    sys.stdout.flush()
    os.execvpe(APART[0], [*APART, sys.executable, *sys.argv], {**os.environ, MARK: "1"})
    return False


def reap():
    """Process 1 waits for those whose parents have ended; the script goes on in its child."""
    script = os.fork()
    while script:
        pid, status = os.wait()
        if pid == script:
            os._exit(os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else 1)


def until(there, most_s=30):
    end = time.monotonic() + most_s
    while time.monotonic() < end and not there():
        time.sleep(0.05)
    return there()


def called(*words):
    subprocess.run(words, check=True, capture_output=True, text=True)


class Nodes:
    """node1, node2, ... and this script's own host, head, on one bridge. /etc/hosts names them all."""

    def __init__(self, count, folder):
        self.names = [f"node{n + 1}" for n in range(count)]
        with open(os.path.join(folder, "hosts"), "w", encoding="ascii") as f:
            f.write(f"127.0.0.1 localhost\n{NETWORK}254 {HEAD}\n")
            f.writelines(f"{NETWORK}{n + 1} {name}\n" for n, name in enumerate(self.names))
        called("mount", "--make-rprivate", "/")
        called("mount", "--bind", os.path.join(folder, "hosts"), "/etc/hosts")
        called("hostname", HEAD)
        called("ip", "link", "set", "lo", "up")
        called("ip", "link", "add", "nodes", "type", "bridge")
        called("ip", "addr", "add", f"{NETWORK}254/24", "dev", "nodes")
        called("ip", "link", "set", "nodes", "up")
        self.holders = [self.make(n, name) for n, name in enumerate(self.names)]

    def make(self, n, name):
        holder = subprocess.Popen(["unshare", "--net", "--uts", "sh", "-c", f"hostname {name}; echo; exec sleep 3600"], stdout=subprocess.PIPE)
        holder.stdout.readline()
        called("ip", "link", "add", f"to{n + 1}", "type", "veth", "peer", "name", "eth0", "netns", str(holder.pid))
        called("ip", "link", "set", f"to{n + 1}", "master", "nodes", "up")
        for words in (["set", "lo", "up"], ["set", "eth0", "up"]):
            called(*self.within(holder), "ip", "link", *words)
        called(*self.within(holder), "ip", "addr", "add", f"{NETWORK}{n + 1}/24", "dev", "eth0")
        return holder

    @staticmethod
    def within(holder):
        return ["nsenter", "-t", str(holder.pid), "--net", "--uts"]

    def on(self, name):
        """The words before a command that shall run on this node."""
        return self.within(self.holders[self.names.index(name)])

    def processes(self, program):
        """{node: numbers} of its processes."""
        spaces, found = {os.readlink(f"/proc/{h.pid}/ns/uts"): n for h, n in zip(self.holders, self.names)}, {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                node = spaces.get(os.readlink(f"/proc/{pid}/ns/uts"))
                with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
                    if node and f.read().strip() == program:
                        found.setdefault(node, []).append(int(pid))
            except OSError:
                continue
        return found

    def quiet(self):
        """No process of a job is left."""
        return until(lambda: not self.processes("gpuprof") and not self.processes("train_ddp"), 15)

    def kill(self, program, node):
        pids = self.processes(program).get(node, [])
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        return len(pids)


class Job:
    """A launcher that starts two ranks, one on each node; each is a gpuprof with a profile in the folder `output`."""

    def __init__(self, build, nodes, launcher, output, *program):
        self.build, self.nodes, self.name, self.output = build, nodes, output, build.path(output)
        self.process = subprocess.Popen(
            [*launcher, build.gpuprof, "run", "-q", "--device", DEVICE, "-o", output + "/", "--", *program], cwd=build.folder.name, env=build.env,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1)
        self.seen = []

    def reads(self, pattern, times=1):
        """What the job prints, until so many of its lines match."""
        for line in self.process.stdout:
            self.seen.append(line.rstrip())
            times -= bool(re.search(pattern, line))
            if times <= 0:
                return True
        return False

    def ends(self, most_s=60):
        """Its status and what it wrote to stderr."""
        try:
            out, err = self.process.communicate(timeout=most_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            out, err = self.process.communicate()
            err += "\nit did not end"
        self.seen += out.splitlines()
        return self.process.returncode, err

    def left(self):
        return sorted(os.listdir(self.output)) if os.path.isdir(self.output) else []

    def profiles(self, number=None, program="train"):
        """What the profiles are to be called."""
        job = f".j{number}" if number else ""
        return [f"{program}{job}.{node}.r{rank}.gpuprof" for rank, node in enumerate(self.nodes.names)]

    def analyzed(self):
        done = self.build.run([self.build.gpuprof, "analyze", "--json", self.name])
        return json.loads(done.stdout) if done.returncode == 0 else {"ranks": [], "findings": [], "error": done.stderr}

    def is_late_node(self, checks, what):
        """Rank 1 was made late."""
        answer = self.analyzed()
        late = [f for f in answer["findings"] if f["rule"] == "straggler"]
        checks.check([r["rank"] for r in answer["ranks"]] == [0, 1], f"{what}: the folder is one job of two ranks", str(answer)[:800])
        checks.check(late and "rank 1 is late (on node2)" in late[0]["summary"], f"{what}: the late rank is named with its node",
                     str(late or answer["findings"])[:1500])

    def keeps(self, checks, names, what, whole=True):
        """Both profiles and nothing else, soon after the end; each with GPU work. `whole`: and as one job."""
        until(lambda: self.left() == names and self.nodes.quiet(), 20)
        made = self.left()
        checks.check(made == names, f"{what}: both profiles and nothing else", str(made))
        counts = [kernels(f"{self.output}/{f}") for f in made if f.endswith(".gpuprof")]
        answer = self.analyzed()
        checks.check(len(counts) == 2 and min(counts) > 0 and "error" not in answer and (not whole or len(answer["ranks"]) == 2),
                     f"{what}: {'what was recorded is there, as one job' if whole else 'both can be read'} ({', '.join(map(str, counts))} kernels)", str(answer)[:800])

    def keeps_folder(self, checks, names, what):
        """As keeps, where all of gpuprof was killed on node2: `gpuprof import` makes the profile of all that it had recorded. The ranks
        do the same work in step, so that has as many kernels as node1's."""
        until(self.nodes.quiet, 20)
        made = self.left()
        folders = [f for f in made if f.startswith(".gpuprof-")]
        checks.check(len(folders) == 1 and [f for f in made if f not in folders and ".partial" not in f] == names[:1], f"{what}: node1's profile, node2's records",
                     str(made))
        for f in folders:
            done = self.build.run([self.build.gpuprof, "import", f"{self.name}/{f}", "-o", f"{self.name}/{names[1]}"])
            checks.check(done.returncode == 0, f"{what}: gpuprof import reads them", done.stderr)
        if self.left() == names:
            counts = [kernels(f"{self.output}/{f}") for f in names]
            checks.check(counts[1] > 0.9 * counts[0], f"{what}: all of them", f"{counts}")
        self.keeps(checks, names, what, whole=False)


def kernels(path):
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    number = db.execute("SELECT count(*) FROM kernel").fetchone()[0]
    db.close()
    return number
