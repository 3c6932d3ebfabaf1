"""Launches from sixteen threads at once, with the shared runtime and with the static one, which is nvcc's default."""
TITLE = "1 and 16 launching threads, shared and static CUDA runtime: every kernel recorded, what a launch costs"
ORDER, LIMIT_S = 70, 60


def run(box):
    launches = 32000 if box.virtual else 160000
    for kind in ("storm", "storm_static"):
        program = box.program(f"programs/{kind}")
        for threads in (1, 16):
            one(box, f"{kind}, {threads} threads", launches, [program, str(threads), str(launches // threads)])


def one(box, name, all_of_them, program):
    bare = box.plain(program, 30).number("us_per_launch")
    profile, done = box.profile("storm", program, 40)
    kernels, launches = (box.one(profile, f"SELECT count(*) FROM {table}") for table in ("kernel", "api"))
    box.row(f"{name}: kernels in the profile of {all_of_them}", kernels, "rows", "all", kernels == all_of_them)
    box.row(f"{name}: calls in the profile", launches, "rows", "at least as many", launches >= all_of_them)
    dropped = box.analyze(profile, "--no-predict")["health"]["dropped"]
    box.row(f"{name}: records dropped", dropped, "records", "0", dropped == 0)
    box.row(f"{name}: a launch without gpuprof", bare, "us")
    box.row(f"{name}: a launch with gpuprof, CUPTI's part included", done.number("us_per_launch"), "us")
