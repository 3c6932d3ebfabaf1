"""The figures that a device profile is made of (`vgpu/profiles/`), measured on this card."""
TITLE = "calls, copies, products, convolutions: what the card's profile should say"
ORDER, LIMIT_S = 50, 120


def run(box):
    box.figures(box.plain([box.program("gpu_calibrate_calls")], 60))
    box.figures(box.plain([box.program("gpu_calibrate_math")], 100))
    profile, _ = box.profile("calibrate", [box.program("gpu_calibrate_math")], 100)
    names = box.ask(profile, "SELECT name, calls, round(mean_us, 2) FROM kernel_time ORDER BY name")
    box.keep("calibrate-kernel-names.tsv", "".join(f"{n}\t{c}\t{us}\n" for n, c, us in names))
    box.row("kernel names seen", len(names), "names")
