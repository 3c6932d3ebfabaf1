# gpuprof. `make` builds into build/; CMake does the work (CMakePresets.json), this file names the ways in.
BUILD ?= build
JOBS  ?= $(shell nproc)
CMAKE_FLAGS ?=

MAKEFLAGS += --no-print-directory

# Ninja, where there is one, takes less time than make. A folder keeps what it was configured with.
ifneq ($(shell command -v ninja),)
export CMAKE_GENERATOR ?= Ninja
export NINJA_STATUS ?= [%p] $()
endif

.PHONY: all setup configure demo test test-long torch fresh aarch64 fuzz bench truth drawn ledger judge judge-scripts many-ranks matrix transparency images gpu-portable gpu-check install packed wheel archive deb release release-check format clean

all: configure
	@cmake --build $(BUILD) -j $(JOBS)
	@scripts/built.sh $(BUILD)

configure: setup
	@cmake -S . -B $(BUILD) $(CMAKE_FLAGS) >$(BUILD).log 2>&1 || { cat $(BUILD).log; exit 1; }
	@grep -A3 '^CUDA: n' $(BUILD).log || true; rm -f $(BUILD).log

setup:
	@CMAKE_FLAGS="$(CMAKE_FLAGS)" scripts/setup.sh build

# Profiles the bundled trainer (on the GPU if there is one, else on the virtual GPU), prints the findings,
# writes demo.html and demo.json. Where CUDA's headers and compiler were refused: the example profile of docs/examples/. Only
# what it needs is built.
demo: configure
	@echo "demo: building gpuprof and one trainer into $(BUILD)/ (about two minutes on two cores)"
	@scripts/progress.sh "demo: building" $(BUILD)/demo.log cmake --build $(BUILD) -j $(JOBS) --target demo_programs
	@scripts/demo.sh $(BUILD)

test:
	@CMAKE_FLAGS="$(CMAKE_FLAGS)" scripts/setup.sh test
	@$(MAKE) all
	@tests/run.sh $(BUILD)

# What takes longest: every planted bottleneck, trials, jobs on two nodes, storms, and the tests under sanitizers. CI runs both.
test-long:
	@CMAKE_FLAGS="$(CMAKE_FLAGS)" scripts/setup.sh test
	@$(MAKE) all
	@tests/run.sh $(BUILD) long

# Real PyTorch with CUDA on the virtual GPU (vgpu/docs/pytorch.md): needs several GB of wheels, so it is a target of its own.
# GPUPROF_TORCH=DIR/bin/python names the interpreter; without it one line says how to set it up. TORCH="mlp gpt" takes two.
torch: configure
	@cmake --build $(BUILD) -j $(JOBS) --target gpuprof gpuprof_agent vgpu >$(BUILD)/torch.log || { tail -n 40 $(BUILD)/torch.log; exit 1; }
	@vgpu/tests/torch/run.py $(BUILD) $(TORCH) || [ $$? = 77 ]
	@vgpu/tests/torch/ranks.py $(BUILD) $(TORCH) || [ $$? = 77 ]
	@vgpu/tests/torch/kineto.py $(BUILD) $(TORCH) || [ $$? = 77 ]
	@tests/torch/gallery.py $(BUILD) $(TORCH) || [ $$? = 77 ]
	@tests/torch/causes.py $(BUILD) $(TORCH) || [ $$? = 77 ]
	@tests/torch/memory.py $(BUILD) $(TORCH) || [ $$? = 77 ]

# The README's lines on bare Debian roots, as root and as a user, with CUDA and without (tests/fresh/fresh.sh): as root, two
# hours on two cores; make fresh FRESH=bookworm:user:plain takes one of the eight. What was fetched stays in $(BUILD)-fresh.
FRESH ?=
fresh:
	@scripts/setup.sh fresh
	@tests/fresh/fresh.sh $(BUILD)-fresh $(FRESH)

# gpuprof built for aarch64 on this machine, and tested under emulation (tests/fresh/arm64.sh): twenty minutes on two cores.
# What was built stays in $(BUILD)-aarch64.
aarch64: all
	@scripts/setup.sh cross && scripts/setup.sh fresh
	@tests/fresh/arm64.sh $(BUILD)-aarch64 $(BUILD) || [ $$? = 77 ]

# libFuzzer on what reads files, and mutants of recordings through all commands, under sanitizers: side by side for S
# seconds. Needs clang. What is learned and found stays in $(BUILD)-fuzz.
S ?= 60
fuzz:
	@tests/fuzz/fuzz.sh $(BUILD)-fuzz $(S) $(FUZZ)

bench: all
	@bench/run.sh $(BUILD) $(TRACES)

# Compares predictions with reruns, and writes docs/accuracy/truth.tsv: an hour on a machine that does nothing else. What was
# measured stays in $(BUILD)/truth, so that it can be stopped and called again: make truth TRUTH="--seconds 600".
truth: all
	@bench/truth/truth.py $(BUILD)/bin --state $(BUILD)/truth --write docs/accuracy/truth.tsv $(TRUTH)

# The same for programs drawn at random, which the engine was not built for: docs/accuracy/drawn.tsv, in a quarter of an hour.
drawn: all
	@bench/truth/truth.py $(BUILD)/bin --state $(BUILD)/drawn --drawn 48 --seed 31 --steps 28 --repeats 2 --models a100-80,h100,h200 \
	    --write docs/accuracy/drawn.tsv $(TRUTH)

# Predictions for real cards beside what was measured there: docs/ledger.tsv, by kind of change docs/accuracy/intervals.tsv,
# where none of a kind, a source or a program was in view docs/accuracy/left_out.tsv,
# and which recordings carry none docs/accuracy/coverage.tsv.
ledger: all
	@bench/truth/ledger.py $(BUILD)/bin/gpuprof $(or $(TRACES),../shared/traces)/pairs --write docs/ledger.tsv docs/accuracy/intervals.tsv
	@bench/truth/coverage.py $(BUILD)/bin/gpuprof $(or $(TRACES),../shared/traces) --write docs/accuracy/coverage.tsv

# How much of what can be saved a greedy agent gets that follows gpuprof, beside one that tries settings in turn:
# docs/accuracy/judge.tsv. Half an hour on a machine that does nothing else; what was measured stays in $(BUILD)/judge: make judge JUDGE="--seconds 600".
judge: all
	@bench/judge/judge.py $(BUILD)/bin --state $(BUILD)/judge --write docs/accuracy/judge.tsv $(JUDGE)

# The same for PyTorch programs with faults in their text: docs/accuracy/judge_scripts.tsv. GPUPROF_TORCH names a Python with a CUDA build.
judge-scripts: all
	@bench/judge/scripts.py $(BUILD)/bin "$(GPUPROF_TORCH)" --state $(BUILD)/judge_scripts --write docs/accuracy/judge_scripts.tsv $(JUDGE)

# Every planted bottleneck of every trainer on four virtual GPUs, alone and in pairs, and what is said of it: docs/accuracy/matrix.tsv.
# Minutes on a machine that does nothing else; what was seen stays in $(BUILD)/matrix.jsonl, so that it can be stopped and
# called again: make matrix MATRIX="--seconds 100".
matrix: all
	@tests/e2e/matrix.py $(BUILD) --full --state $(BUILD)/matrix.jsonl --write docs/accuracy/matrix.tsv $(MATRIX)

# Jobs of 256 and 1,024 ranks whose late rank, groups, clocks and leftovers are known, and what is said of them; the tests make
# smaller ones. A quarter of an hour.
many-ranks: configure
	@cmake --build $(BUILD) -j $(JOBS) --target gpuprof
	@tests/golden/many_ranks.py $(BUILD)/bin/gpuprof 256 1024

# The pictures of docs/images, of what gpuprof writes now: needs node, Chromium and golang-src (for a viewer of traces).
# A test fails when what they were made from has changed since.
images: configure
	@cmake --build $(BUILD) -j $(JOBS) --target gpuprof
	@scripts/images/make.sh $(BUILD)/bin/gpuprof

# Some hundred situations of programs without and with gpuprof, compared to the byte: docs/transparency.md. Interpreters with
# frameworks are named in GPUPROF_PYTHONS="NAME=PATH NAME=PATH". An hour; make transparency TRANSPARENCY="--only 'launchers/*'".
transparency: all
	@tests/transparency/transparency.py $(BUILD) --state $(BUILD)/transparency.jsonl --write docs/transparency.md $(TRANSPARENCY)

# On a machine with a GPU: every case of tests/gpu, or those of CASES="a b", into OUT (tests/gpu/README.md). The portable
# build may have been made elsewhere; only Python is needed here then.
PORTABLE ?= build-portable
OUT ?= gpu-check
DEVICE ?= auto
gpu-portable: setup
	@cmake --preset portable -DGPUPROF_NEED_RECORDER=ON $(CMAKE_FLAGS) >$(PORTABLE).log 2>&1 || { cat $(PORTABLE).log; exit 1; }
	@cmake --build $(PORTABLE) -j $(JOBS) --target gpu_check_programs; rm -f $(PORTABLE).log

gpu-check:
	@[ -x $(PORTABLE)/bin/gpuprof ] || $(MAKE) gpu-portable
	@python3 tests/gpu/check.py $(PORTABLE) $(OUT) --device $(DEVICE) $(CASES)

# make install PREFIX=~/.local needs no root.
install: all
	cmake --install $(BUILD) $(if $(PREFIX),--prefix $(PREFIX))

# What installs where nothing is installed, into DIST: a wheel, an archive to unpack, a .deb, all of one build, for MACHINE (x86_64 or
# aarch64). They run on systems with glibc 2.28 or newer (scripts/sysroot.py); with SYSROOT= on those like this machine.
# `make release OUT=DIR` makes them for both machines, the sources, an SBOM and checksums.
DIST ?= dist
MACHINE ?= $(shell uname -m)
MACHINES ?= x86_64 aarch64
SYSROOT ?= $(CURDIR)/build-sysroot
PACKED = build-packed/$(MACHINE)
packed:
	@CMAKE_FLAGS="$(CMAKE_FLAGS)" scripts/setup.sh $(if $(filter $(MACHINE),$(shell uname -m)),build,cross)
	@$(if $(SYSROOT),scripts/sysroot.py $(SYSROOT) $(MACHINE))
	@mkdir -p $(PACKED) && cmake --preset packed -B $(PACKED) $(if $(SYSROOT),-DCMAKE_TOOLCHAIN_FILE=$(CURDIR)/cmake/sysroot.cmake \
	    -DGPUPROF_MACHINE=$(MACHINE) -DGPUPROF_SYSROOT=$(SYSROOT)/$(MACHINE)) $(CMAKE_FLAGS) >$(PACKED).log 2>&1 || { cat $(PACKED).log; exit 1; }
	@scripts/progress.sh "building what is packed for $(MACHINE)" $(PACKED)/build.log cmake --build $(PACKED) -j $(JOBS) --target packed

wheel archive deb: packed
	@scripts/pack.py $(DIST) $@ $(PACKED)

release:
	@$(foreach m,$(MACHINES),$(MAKE) packed MACHINE=$m &&) scripts/pack.py $(if $(filter command%,$(origin OUT)),$(OUT),dist) $@ $(MACHINES:%=build-packed/%)

# What `make release` wrote into OUT, on bare systems, old and new, of both machines (tests/fresh/release.sh): a quarter of an hour.
release-check:
	@tests/fresh/release.sh $(BUILD)-release $(if $(filter command%,$(origin OUT)),$(OUT),dist) $(FRESH)

format:
	git ls-files --cached --others --exclude-standard '*.c' '*.h' '*.cu' '*.cuh' | xargs clang-format -i

clean:
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-tsan $(BUILD)-fuzz $(BUILD)-aarch64 build-packed $(DIST) demo.html demo.json
