"""CUPTI's second activity interface beside its first: the same records, and what each costs.

It needs CUPTI 13.3 update 1 and a driver of r610 or newer. GPUPROF_CUPTI names a newer libcupti than the one that lies beside CUDA."""
import os
import statistics

from box import Skip

TITLE = "CUPTI's two activity interfaces: the same records, at which cost"
ORDER, LIMIT_S = 40, 200
PROGRAM = ["--depth", "18", "--batch", "32", "--image", "96", "--data", "fixed", "--steps", "120"]
PAIRS = 6
COUNTS = ("kernel", "copy", "memset", "api", "sync")


def run(box):
    box.device += ",cupti=13.4" if box.virtual else ""
    newer = {k: v for k, v in os.environ.items() if k == "GPUPROF_CUPTI"}
    program = [box.program("train_conv"), *PROGRAM]
    found = {1: [], 2: []}
    for _ in range(1 if box.virtual else PAIRS):
        for interface in (1, 2):
            path, _ = box.profile(f"second-{interface}", program, 60, GPUPROF_CUPTI_INTERFACE=str(interface), **newer)
            used = fact(box, path, "cupti_interface")
            if used != str(interface):
                raise Skip(f"gpuprof used interface {used}, not {interface}: CUPTI {fact(box, path, 'cupti_version')}, "
                           f"driver {fact(box, path, 'driver_version')}")
            found[interface].append([box.one(path, f"SELECT count(*) FROM {table}") for table in COUNTS] +
                                    [box.analyze(path)["steps"]["median_ms"], os.path.getsize(path)])
    for i, table in enumerate(COUNTS):
        first, second = found[1][0][i], found[2][0][i]
        box.row(f"rows of {table} by the second interface", second, "", f"{first}, as by the first", first == second)
    for i, (what, unit) in enumerate((("median step", "ms"), ("profile", "bytes")), len(COUNTS)):
        for interface in (1, 2):
            box.row(f"{what} by interface {interface}", statistics.median(r[i] for r in found[interface]), unit)


def fact(box, path, key):
    return box.one(path, "SELECT v.text FROM meta m JOIN string k ON k.id = m.key JOIN string v ON v.id = m.value "
                         f"WHERE k.text = '{key}' ORDER BY m.id DESC")
