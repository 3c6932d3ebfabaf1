"""A million launches a minute for a minute: nothing may be lost, nothing may grow without bound."""
import os

TITLE = "one million launches a minute for a minute: drops, memory, size"
ORDER, LIMIT_S = 90, 110


def run(box):
    seconds = 4 if box.virtual else 60
    profile, done = box.profile("launches", [box.program("gpu_launcher"), "rate", str(seconds), "16667"], seconds + 60)
    launches = done.number("launches")
    kernels = box.one(profile, "SELECT count(*) FROM kernel")
    box.row("launches", int(launches), "kernels")
    box.row("kernels in the profile", kernels, "rows", "all", kernels == launches)
    box.row("records dropped", box.analyze(profile)["health"]["dropped"], "records", "0", box.analyze(profile)["health"]["dropped"] == 0)
    box.row("profile's size", os.path.getsize(profile) / 1e6, "MB")
    box.row("seconds, of the program's own clock", done.number("seconds"), "s")
    os.remove(profile)
