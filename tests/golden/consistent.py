#!/usr/bin/env python3
"""One answer, one truth: no two numbers of an answer contradict each other, in its verdict, findings, possible order of
changes, ranks, critical path, text, page, Markdown and JSON, and no advice that has only an upper bound stands before a larger prediction.
Asked of the recordings that standins.py writes, of those in real/, and of the recordings in FOLDER that have at most SIZE
bytes. With `larger`: of the others in FOLDER alone, and of the folders in it that hold ranks, each as one run.
Usage: consistent.py GPUPROF FOLDER SIZE [larger]."""
import base64
import glob
import gzip
import html
import json
import os
import re
import subprocess
import sys
import tempfile

import standins

HERE = os.path.dirname(os.path.abspath(__file__))
ROUND = 1.006      # three digits of a number in text
NOTHING_PCT = 5    # of the step: what is called "next to nothing" is less
MARKED_KINDS = (".json.gz", ".sqlite.gz", ".gpuprof", ".pb", ".pb.gz", ".rpd")


def near(text, value):
    """A number in the text stands for this value."""
    return abs(float(text) - value) <= 0.006 * abs(value) + 0.006


def times(text):
    """Milliseconds in a text."""
    units = {"us": 1e-3, "ms": 1.0, "s": 1e3}
    return [float(n) * units[u] for n, u in re.findall(r"(\d+(?:\.\d+)?) (us|ms|s)\b", text)]


def of_parts(r):
    """The parts of a step sum to it, and the verdict's shares are theirs."""
    step, parts = r["breakdown_of_ms"], r["breakdown_ms"]
    if step and abs(sum(parts.values()) - step) > 0.01 * step:
        yield f"parts of {sum(parts.values()):.3f} ms in a step of {step} ms"
    shares = {name: 100 * parts[part] / step for name, part in (("launches", "idle_launch"), ("allocating", "idle_alloc"))
              if step and part in parts}
    for name, text in re.findall(r"(launches|allocating) (\d+) %", r["verdict"].split(". ")[0]):
        if abs(shares[name] - float(text)) > 1:
            yield f"verdict: {name} {text} %, the parts say {shares[name]:.1f} %"
    if r["steps"]["unit"] == "window" and re.search(r"of each [\d.]+ m?s step", r["verdict"] + r["why"]):
        yield f"no step repeats, and yet: {r['verdict']}"


# what a text calls a part of a step
PARTS = {"compute": "compute", "copies, not overlapped": "copy_exposed", "communication, not overlapped": "comm_exposed",
         "GPU idle: waiting for input data": "idle_input", "GPU idle: host blocked in a copy": "idle_copy",
         "GPU idle: after a synchronisation": "idle_sync", "GPU idle: launches too slow": "idle_launch",
         "GPU idle: allocating or freeing": "idle_alloc", "GPU idle: other host work": "idle_host",
         "GPU idle: between queued kernels": "idle_queued"}


def of_work(r):
    """The kinds of kernels sum to all kernels, no kernel takes more than its kind, and a copy is exposed no longer than it takes."""
    work = r["work"]
    kinds = {k["kind"]: k for k in work["kinds"]}
    for key, total in (("ms", "kernel_ms"), ("count", "kernel_count")):
        if abs(sum(k[key] for k in kinds.values()) - work[total]) > 1e-4 * (1 + work[total]):
            yield f"kinds of kernels sum to {sum(k[key] for k in kinds.values())} {key}, all kernels to {work[total]}"
    for k in work["kernels"]:
        if k["ms"] > kinds[k["kind"]]["ms"] + 1e-5 or not k["min_ms"] <= k["mean_ms"] <= k["max_ms"]:
            yield f"kernel {k} of {kinds[k['kind']]}"
    apart = sum(s["ms"] for s in work["streams"]) - sum(c["ms"] for c in work["copies"]) - work["kernel_ms"]
    if not -1e-3 <= apart <= sum(s["copy_ms"] for s in work["streams"]) + 1e-3: # memsets
        yield f"streams take {apart:.6f} ms more than their kernels and copies"
    gaps = [g["end_ms"] - g["start_ms"] for g in r["gaps"]]
    if any(a < b - 1e-6 for a, b in zip(gaps, gaps[1:])) or min(gaps, default=1) <= 0:
        yield f"the longest gaps: {gaps}"
    for c in work["copies"]:
        if c["exposed_ms"] > c["ms"] + 1e-5:
            yield f"copies exposed for longer than they take: {c}"


def of_why(r):
    """The times and shares in verdict and reasons are those of the parts and of the step."""
    step, parts = r["breakdown_of_ms"], r["breakdown_ms"]
    for name, n, unit, share in re.findall(r"(" + "|".join(map(re.escape, PARTS)) + r") ([\d.]+) (us|ms|s) \((\d+) %\)", r["why"]):
        value = parts.get(PARTS[name])
        if value is not None and (not near(times(f"{n} {unit}")[0], value) or abs(100 * value / step - float(share)) > 1):
            yield f"why: {name} {n} {unit} ({share} %), the parts say {value} ms of {step} ms"
    busy = re.search(r"kernels compute during (\d+) % of", r["verdict"])
    if busy and step and "compute" in parts and abs(100 * parts["compute"] / step - float(busy.group(1))) > 1:
        yield f"verdict: kernels compute during {busy.group(1)} %, the parts say {100 * parts['compute'] / step:.1f} %"
    fed = re.search(r"the GPU waits for data during (\d+) %", r["verdict"])
    if fed and step and abs(100 * parts["idle_input"] / step - float(fed.group(1))) > 1:
        yield f"verdict: waits for data during {fed.group(1)} %, the parts say {100 * parts['idle_input'] / step:.1f} %"
    length = re.search(r"of each ([\d.]+) (us|ms|s) step", r["verdict"])
    if length and not near(times(" ".join(length.groups()))[0], step):
        yield f"verdict: {length.group(0)}, the step takes {step} ms"


def of_path(r):
    """The critical path's parts sum to the replayed step, and none is worth more than the step."""
    replay = r["replay"] or {}
    path, step = replay.get("critical_path") or [], replay.get("step_ms") or 0
    if path and abs(sum(p["path_ms"] for p in path) - step) > 0.01 * step + 0.01:
        yield f"a critical path of {sum(p['path_ms'] for p in path):.3f} ms in a step of {step} ms"
    for p in path:
        if p["worth_ms"] > step * 1.001 or p["idle_ms"] > step * 1.001:
            yield f"critical path: {p} in a step of {step} ms"
    stack = replay.get("stack") or []
    if stack and abs(sum(s["saves_ms"] for s in stack) - r["stacked_ms"]) > 0.002 * step + 0.002:
        yield f"the changes save {sum(s['saves_ms'] for s in stack):.3f} ms together, and 'stacked' is {r['stacked_ms']} ms"


def of_verdicts(r):
    """Each rule has one verdict, and shares are shares."""
    lists = [[f["rule"] for f in r["findings"]]] + [[x["rule"] if isinstance(x, dict) else x for x in r[k]]
                                                  for k in ("suppressed", "cannot_tell", "fine")]
    rules = [rule for one in lists for rule in set(one)]
    for rule in sorted({x for x in rules if rules.count(x) > 1}):
        yield f"{rule} has {rules.count(rule)} verdicts"
    for f in r["findings"]:
        for e in f["evidence"]:
            if e["value"] < 0 or e["unit"] == "%" and "memory's rate" not in e["text"] and e["value"] > 100.5:
                yield f"{f['rule']}: {e['text']} {e['value']} {e['unit']}"
        of = re.search(r"of (?:each )?([\d.]+) (us|ms|s) (?:per step|step)\b", f["summary"])
        if of and f["of"] == "step" and not near(times(" ".join(of.groups()))[0], f["of_ms"]):
            yield f"{f['rule']}: {of.group(0)} in its summary, of {f['of_ms']} ms"


def of_savings(r):
    """Intervals in order, no more than there is, bounds not above what the finding itself has measured."""
    step = r["breakdown_of_ms"]
    for f in r["findings"]:
        s, rule = f["saves_ms"], f["rule"]
        if not 0 <= s["low"] <= s["mid"] <= s["high"] * 1.0001 or s["high"] > f["of_ms"] * 1.001:
            yield f"{rule}: saves {s} of {f['of_ms']} ms"
        if f["of"] == "run" and f["of_ms"] < step or f["of"] != "run" and f["of_ms"] != step:
            yield f"{rule}: of {f['of_ms']} ms, and the step takes {step} ms"
        if f["kind"] == "upper-bound" and s["low"]:
            yield f"{rule}: a bound with a lower end, {s}"
        seen = [e["value"] for e in f["evidence"] if e["unit"] == "ms"]
        if f["kind"] == "upper-bound" and seen and s["high"] > ROUND * sum(seen):
            yield f"{rule}: up to {s['high']} ms, its evidence is {seen}"
        for zero in re.findall(r"(?<![\d.])0\.0+ ms", f["summary"]):
            yield f"{rule}: '{zero}' in its summary, and it saves {s['high']} ms: {f['summary']}"


def of_order(r):
    """No bound before a larger prediction; what leads is what the verdict and the next step name."""
    ranked = r["findings"]
    for i, bound in enumerate(ranked):
        for later in ranked[i + 1:]:
            if (bound["kind"] == "upper-bound" and later["kind"] == "predicted" and later["group"] != "training" and
                    later["saves_ms"]["mid"] > bound["saves_ms"]["mid"] * 1.0001):
                yield (f"{bound['rule']}, at most {bound['saves_ms']['high']} ms, stands before {later['rule']}, "
                       f"which saves {later['saves_ms']['mid']} ms")
    named = re.search(r"(The largest saving|What to change first)[^:]*: (.*?), (?:at most )?([\d.]+) (us|ms|s)\b", r["verdict"])
    if not named:
        return
    # words for the rest after start-up name the second
    first = ranked[1 if "in the rest" in r["verdict"] else 0] if len(ranked) > ("in the rest" in r["verdict"]) else None
    if not first or named.group(2) != first["title"]:
        yield f"the verdict names '{named.group(2)}', the first finding is {first and first['rule']}"
    elif named.group(1).startswith("The largest") and any(f["saves_ms"]["mid"] > first["saves_ms"]["high"] for f in ranked):
        yield f"'the largest saving' is {first['rule']}, and another one saves more"
    if "in the rest" not in r["verdict"] and ranked[0]["title"] not in (r["next"] or ""):
        yield f"next is '{r['next'][:60]}', the first finding is {ranked[0]['rule']}"


def of_stack(r):
    """Changes one after another: each makes the step shorter by what it says, and none saves more than there is."""
    replay, ranked = r["replay"] or {}, [f["rule"] for f in r["findings"]]
    before = r["breakdown_of_ms"]
    for s in replay.get("stack", []):
        if abs(before - s["saves_ms"] - s["step_ms"]) > 0.002 * r["breakdown_of_ms"] + 0.002:
            yield f"{s['rule']}: {before} ms less {s['saves_ms']} ms is not {s['step_ms']} ms"
        if not s["step_low_ms"] <= s["step_ms"] * 1.0001 or not s["step_ms"] <= s["step_high_ms"] * 1.0001:
            yield f"{s['rule']}: {s['step_ms']} ms is not within {s['step_low_ms']} to {s['step_high_ms']} ms"
        before = s["step_ms"]
    stack = [s["rule"] for s in replay.get("stack", []) if s["rule"] in ranked]
    lead = [f["rule"] for f in r["findings"] if f["kind"] == "predicted" and f["rule"] in stack]
    if lead and ranked[0] == lead[0] and stack[0] != lead[0]:
        yield f"the first finding is {lead[0]}, the first to apply is {stack[0]}"


def of_others(r):
    """What is not advised now, and ranks."""
    step = r["breakdown_of_ms"]
    for s in r["suppressed"]:
        most = re.search(r"next to nothing; ([\d.]+) (us|ms|s) at most", s["why"])
        if most and step and 100 * times(" ".join(most.groups()))[0] > NOTHING_PCT * step:
            yield f"{s['rule']}: next to nothing, and {' '.join(most.groups())} of {step} ms at most"
    named = {f["rule"] for f in r["findings"]} | {s["rule"] for s in r["suppressed"] if "present, but" in s["why"]}
    for s in r["suppressed"]:
        see = re.search(r"see ([a-z-]+)$", s["why"])
        if see and see.group(1) not in named:
            yield f"{s['rule']}: {s['why']}, which says nothing"
    ranks = {x["rank"]: x for x in r["ranks"]}
    for f in r["findings"]:
        late = re.match(r"rank (\d+) is late", f["summary"])
        if f["rule"] == "straggler" and late and not ranks.get(int(late.group(1)), {}).get("late_ms", 1):
            yield f"rank {late.group(1)} is late in the finding, and never in the table"
    if r["steps"]["source"] in ("framework", "nvtx") and any(x["step_median_ms"] is None for x in r["ranks"]):
        yield "a rank without a length of its step beside one that has marks"
    if sum(x.get("analysed", True) for x in r["ranks"]) > 1 and r["gpu"]["window_ms"]:
        yield f"the numbers are of several ranks: {r['ranks']}"


def of_text(r, text):
    """The text says what JSON says."""
    flat = " ".join(text.split())
    if " ".join(r["verdict"].split()) not in flat:
        yield "the text has another verdict than JSON"
    for f in r["findings"]:
        at = flat.find(" " + f["title"] + " ")
        shown = re.search(re.escape(f["title"]) + r" (?:up to )?([\d.]+) (us|ms|s) ", flat[flat.find("what to change"):])
        value = f["saves_ms"]["high" if f["kind"] == "upper-bound" else "mid"]
        if at < 0 or not shown:
            yield f"{f['rule']} is not in the text"
        elif not near(times(f"{shown.group(1)} {shown.group(2)}")[0], value):
            yield f"{f['rule']}: {shown.group(0)}in the text, {value} ms in JSON"
    said = re.search(r"keeps the others waiting ([\d.]+) (us|ms|s) per step", flat[max(flat.find("Ranks "), 0):])
    if len(r["ranks"]) > 1 and "all numbers that name no rank are of rank" not in flat:
        yield "several ranks, and the text does not say whose the numbers are"
    for f in r["findings"] + r["suppressed"]:
        if f["rule"] == "straggler" and said and "saves_ms" not in f and "at most" in f["why"]:
            yield f"straggler: {f['why']}, and the ranks' line says {said.group(1)} {said.group(2)}"


def of_applied(r, flat):
    """The changes one after another are those of JSON: their order, and what a step takes after each."""
    stack = (r["replay"] or {}).get("stack") or []
    said = re.search(r"Applied in this order: ([\d.]+ (?:us|ms|s))((?: -> [\d.]+ (?:us|ms|s) \(`?[a-z0-9-]+`?\))+)", flat)
    if not said:
        return
    steps = re.findall(r"-> ([\d.]+ (?:us|ms|s)) \(`?([a-z0-9-]+)", said.group(2))
    if [rule for _, rule in steps] != [s["rule"] for s in stack]:
        yield f"applied in the order {[rule for _, rule in steps]}, in JSON {[s['rule'] for s in stack]}"
        return
    told = [(times(said.group(1))[0], r["breakdown_of_ms"])] + [(times(t)[0], s["step_ms"]) for (t, _), s in zip(steps, stack)]
    for shown, value in told:
        if not near(shown, value):
            yield f"applied in this order: {shown} ms, in JSON {value} ms"


def of_markdown(r, text):
    """Markdown says what JSON says, in its order."""
    plain = re.sub(r"\\([\\`*_{}\[\]()#+.!|<>~-])", r"\1", html.unescape(text))
    if r["verdict"] not in plain:
        yield "Markdown has another verdict than JSON"
    rows = re.findall(r"^\| \d+ \| .*? \(`([a-z0-9-]+)`\) \| (.*?) \|", plain, re.M)
    if [rule for rule, _ in rows] != [f["rule"] for f in r["findings"]]:
        yield f"Markdown has the findings {[rule for rule, _ in rows]}"
        return
    for (_, said), f in zip(rows, r["findings"]):
        value = f["saves_ms"]["high" if f["kind"] == "upper-bound" else "mid"]
        if not times(said) or not near(times(said)[0], value):
            yield f"{f['rule']}: '{said}' in Markdown, {value} ms in JSON"
    for name, value, share in re.findall(r"^\| (" + "|".join(map(re.escape, PARTS)) + r") \| ([\d.]+) \| ([\d.]+) \|", plain, re.M):
        part = r["breakdown_ms"].get(PARTS[name])
        if part is not None and (abs(float(value) - part) > 0.006 or abs(100 * part / r["breakdown_of_ms"] - float(share)) > 0.06):
            yield f"Markdown: {name} {value} ms, {share} %, the parts say {part} ms of {r['breakdown_of_ms']} ms"


def of_page(r, page):
    """The page says what JSON says, in its order."""
    page = html.unescape(page)
    if r["verdict"] not in page:
        yield "the page has another verdict than JSON"
    titles = re.findall(r'<span class="title">(.*?)</span> <span class="saves[^"]*">(.*?)</span>', page)
    if [t for t, _ in titles] != [f["title"] for f in r["findings"]]:
        yield f"the page has the findings {[t for t, _ in titles]}"
        return
    for (_, said), f in zip(titles, r["findings"]):
        value = f["saves_ms"]["high" if f["kind"] == "upper-bound" else "mid"]
        if not times(said) or not near(times(said)[0], value):
            yield f"{f['rule']}: '{said}' on the page, {value} ms in JSON"


def of_page_step(r, page):
    """The page's bars, legend, changes one after another and timeline have the step of JSON."""
    page, step = html.unescape(page), r["breakdown_of_ms"]
    bar = re.search(r'<span class="barlabel">[^<]*</span><span class="bartime">([^<]*)</span>', page)
    if bar and not near(times(bar.group(1))[0], step):
        yield f"the first bar is {bar.group(1)}, the step takes {step} ms"
    for name, value, share in re.findall(r"<span>(" + "|".join(map(re.escape, PARTS)) + r")</span><b>([^<]*)</b><em>([\d.]+) %</em>", page):
        part = r["breakdown_ms"].get(PARTS[name])
        if part is not None and (not near(times(value)[0], part) or abs(100 * part / step - float(share)) > 0.06):
            yield f"page: {name} {value}, {share} %, the parts say {part} ms of {step} ms"
    first = re.search(r'as recorded</th><td>([^<]*)</td>', page)
    if first and not near(times(first.group(1))[0], step):
        yield f"after each change: {first.group(1)} as recorded, the step takes {step} ms"
    packed = re.search(r'id="data"[^>]*>([^<]*)<', page)
    if not packed or r["steps"]["unit"] == "window":
        return
    data = json.loads(gzip.decompress(base64.b64decode(packed.group(1))))
    if len(data["steps"]["number"]) != r["steps"]["count"]:
        yield f"the page has {len(data['steps']['number'])} steps, in JSON {r['steps']['count']}"
    run = r["health"].get("run_steps") or 0
    if data["unrecorded"]["from"] and run and any(data["unrecorded"]["last"]) and data["run"] != run:
        yield f"the page's run has {data['run']} steps, in JSON {run}"
    if f"of {run} steps recorded" in page and f'max="{data["run"]}"' not in page:
        yield "the field for a step's number has another end than the run"


def asked(gpuprof, paths, page):
    """What is wrong with the answers about these paths; None where there is no answer at all."""
    def run(*words):
        return subprocess.run([gpuprof, *words], capture_output=True, text=True, check=False, env={**os.environ, "NO_COLOR": "1"})
    done = run("analyze", "--json", *paths)
    if done.returncode:
        return None  # what cannot be read is said by others
    r = json.loads(done.stdout)
    wrong = [w for check in (of_parts, of_work, of_why, of_path, of_verdicts, of_savings, of_order, of_stack, of_others) for w in check(r)]
    text = run("analyze", "-v", *paths).stdout
    wrong += of_text(r, text)
    markdown = run("analyze", "--markdown", *paths).stdout
    wrong += [w for said in (text, markdown) for w in of_applied(r, " ".join(said.split()))]
    wrong += of_markdown(r, markdown)
    if run("report", "-f", "-o", page, *paths).returncode == 0:
        with open(page, encoding="utf-8") as f:
            said = f.read()
        wrong += [w for check in (of_page, of_page_step) for w in check(r, said)]
        recorded = re.search(r"&middot; recorded: (.*?)(?: &middot;|</p>)", said)
        if recorded and " ".join(html.unescape(recorded.group(1)).split()) not in " ".join(text.split()):
            wrong.append("what was recorded: the page and the text say different things")
    return wrong


def own_recordings(own):
    found = [os.path.join(own, row[0]) for row in standins.make(own)]
    for packed in sorted(glob.glob(os.path.join(HERE, "real", "*.gpuprof.gz"))):
        path = os.path.join(own, os.path.basename(packed)[:-3])
        with gzip.open(packed) as f, open(path, "wb") as out:
            out.write(f.read())
        found.append(path)
    return found


def others_recordings(folder, size, larger):
    found = []
    for at, _, names in sorted(os.walk(folder)):
        files = [os.path.join(at, n) for n in sorted(names) if n.endswith(MARKED_KINDS)]
        found += [f for f in files if (os.path.getsize(f) > size) == larger]
        if any(re.match(r"rank\d+\.", n) for n in names) and larger:
            found.append(at)
    return found


def main():
    gpuprof, folder, size, larger = sys.argv[1], sys.argv[2], int(sys.argv[3]), "larger" in sys.argv[4:]
    if not os.path.isdir(folder):
        print("left out: no recordings in ../shared/traces" if not larger else "skipped: no recordings in ../shared/traces")
        if larger:
            return 77
    answers = bad = 0
    with tempfile.TemporaryDirectory() as own:
        for path in ([] if larger else own_recordings(own)) + others_recordings(folder, size, larger):
            wrong = asked(gpuprof, [path], os.path.join(own, "page.html"))
            answers += wrong is not None
            bad += bool(wrong)
            for line in wrong or []:
                print(f"{os.path.relpath(path, own if path.startswith(own) else folder)}: {line}")
    print(f"{answers} answers, {bad} contradict themselves")
    return 1 if bad or not answers else 0


if __name__ == "__main__":
    sys.exit(main())
