# make test   everything a fresh machine needs (Go modules, a Python environment), then every check and every test
# make go     the part that needs only Go
# make prose  the project's words, by Vale: pages, help and messages
# make hostile  every command on a thousand files that ask for too much, with limits of memory and time
# make goldens  rewrites the golden files and names those that changed; make unit compares them
# make lint-python  memshim's format, rules, imports and types
# make fuzz   every fuzz target, an hour in all (FUZZTIME=30s for a short one)
# make bench  the benchmarks; bench-python: memshim's own
# make workspace  asks cuDNN for the workspaces that memspec.yaml's cases need, without a GPU; workspace-current says whether that is needed
# make probe  cudaprobe on a stand-in driver; make test-compat: the shim with the oldest PyTorch that is promised, 5 GB more
# make test-pretend  the pretend GPU with each PyTorch from 2.6 to 2.15, one environment of 5 to 8 GB at a time (RELEASES="2.10.0 2.12.0")
# make test-serve  memshim serve with vLLM itself, in .venv-serve, 11 GB and twelve minutes of processor time (SERVE=.venv-serve-newest: the newest release)
# make mutants  small bugs put into the code one at a time: which of them no test sees, of their own package and of all (N=300 SEED=1 PKG=./engine/...)
# make mutants-python  the same for memshim's Python and the pretend GPU's C (N=40 SEED=1 ONLY=case/)
# make scale  ten thousand cases in one check: processor time and memory
# make truth  the tables of docs/accuracy.md: predictions against recorded truth
# make truth-xmem  xMem's measured training peaks and four estimators, beside a pretend GPU with torch 2.6.0
# make truth-finetune  programs of fine-tuning libraries on a pretend GPU: which work, and their peaks (PROGRAMS="qlora trl_sft"); fetches 6 GB
# make truth-frameworks  programs of distributed training's frameworks, their ranks alone and under their launchers (PROGRAMS="titan deepspeed_train"); fetches 6 GB
# make truth-ranks  every strategy of distributed training, each rank alone beside real processes, event for event (RELEASES="2.10.0")
# make truth-clusters  published peaks of clusters beside a rank alone, with the releases of that time (RELEASE=2024-12 or 2025-06, ROWS="405B"); fetches 6 GB
# make truth-published  every published peak beside a pretend GPU's, each set with the releases of its time: hours (SETS="torchtune liger"); fetches 60 GB
# make truth-h100  peaks recorded on an H100 for this project beside a pretend H100's (ROWS="models 'qlora nf4'"); fetches 6 GB
# make truth-fit  the answers of memshim fit beside runs of every batch around them (PROGRAMS="gpt2 lora finders"); hours for all, fetches 4 GB
# make truth-releases  predictions beside each PyTorch from 2.6 to 2.15, as a table (RELEASES="2.7.1 2.8.0")
# make truth-pretend  predictions against PyTorch on pretend GPUs, for all of torchvision's models: hours (CATALOG=timm ORACLE=DIR DEVICES="--device t4")
# make release  memshim's source distribution and wheels for every system into dist/, each tried in a fresh environment

SHELL := /bin/sh
GO ?= go
PYTHON ?= python3
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
ACTIONLINT := github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
VALE := github.com/vale-cli/vale/v3@v3.21.0
SARIF := github.com/owenrumney/go-sarif/v3@v3.3.1
UV := uv==0.13.9
VENV := .venv
COMPAT := .venv-compat
SERVE := .venv-serve
HEADERS := .cache/cuda-headers
# What runs on more than one goroutine: packages, and of the two big ones the tests that run models side by side and the commands that judge many cases.
RACE := ./engine/program ./engine/internal/once ./internal/cli ./assert ./cudameasure/...
RACE_ENGINE := ^Test(Invariants|Judge(All|EndsASearch|Reports)|TrainingSteps|ARunIsMadeOnce)$$
RACE_COMMAND := ^TestScript$$/^(check|verify)$$|^TestInterrupted

PUBLISHED_SETS := attention vit classifiers snapshots flux bert sdxl liger liger-2.8 liger-later programs
.PHONY: test help lint-python go fmt vet tidy staticcheck workflows files prose unit hostile race goldens formats python probe recordings test-python test-compat test-pretend test-serve examples-python check workspace workspace-current examples fuzz bench bench-python scale mutants mutants-python truth truth-finetune truth-fit truth-h100 truth-clusters truth-frameworks truth-ranks truth-releases truth-xmem truth-published $(PUBLISHED_SETS:%=truth-of-%) release clean

# The Python environment is fetched while Go's checks run; then what takes one processor runs two at a time, each with what it prints in one piece
# where make can do that (4.0 can).
test:
	@$(MAKE) --no-print-directory python & fetching=$$!; $(MAKE) --no-print-directory go; go=$$?; \
		wait $$fetching && exit $$go
	@$(MAKE) --no-print-directory -j2 $(if $(filter output-sync,$(.FEATURES)),--output-sync=target) race $(HEADERS)/.stamp lint-python prose probe recordings \
		formats workspace-current examples-python
	@$(MAKE) --no-print-directory test-python

go: fmt tidy staticcheck workflows files unit check examples

# The lines at the top of this file.
help:
	@sed -n '/^# /!q; s/^# //p' Makefile

# Go's tests and its compiler hardly collect garbage, as the command does not: a sixth less processor time.
export GOGC ?= 400
bench scale: GOGC := 100

# What is shipped has no cgo, and what is tested has none either: it links faster, and is compiled once for all of them. The race detector needs it.
export CGO_ENABLED ?= 0

# Python reads what it compiled before.
unexport PYTHONDONTWRITEBYTECODE

# A plain go test takes a share of the longest lists of cases.
unit goldens: export MEMSPEC_WHOLE ?= 1

fmt:
	@out=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); if [ -n "$$out" ]; then echo "gofmt: not formatted:"; echo "$$out"; exit 1; fi

vet:
	$(GO) vet ./...

# go.mod and go.sum are what go mod tidy writes.
tidy:
	$(GO) mod tidy -diff

staticcheck:
	$(GO) run $(STATICCHECK) ./...

# The workflows and the action, as GitHub reads them.
workflows:
	$(GO) run $(ACTIONLINT) -shellcheck= -pyflakes= .github/workflows/*.yml examples/ci/pre-merge.yml examples/ci/comment.yml

files:
	@.ci/check-files

# Rules: .ci/styles. Help is read in docs/reference, which is generated from it.
VALE_BINARY := .cache/vale-$(lastword $(subst @, ,$(VALE)))
PROSE := README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs pyshim/README.md
prose: $(VALE_BINARY)
	@rm -rf bin/prose && .ci/messages bin/prose
	@$(VALE_BINARY) --no-global --no-wrap $(PROSE) bin/prose
	@if echo 'Nothing tells.' | $(VALE_BINARY) --no-global --ext=.md >/dev/null 2>&1; then echo "prose: got no error for a sentence of words that .ci/styles lists"; exit 1; fi

$(VALE_BINARY): .ci/vale
	@.ci/vale $(VALE) $@

# With every check of go vet, on what the tests compile anyway, and with every hostile file.
unit: export MEMSPEC_HOSTILE ?= 1
unit:
	$(GO) test -vet=all -timeout 30m ./...
	cd tools && $(GO) test -vet=all ./...

# What SECURITY.md promises of malformed files, two minutes: all of them, as make unit tries them; a plain go test tries a part.
hostile:
	MEMSPEC_HOSTILE=1 $(GO) test -timeout 30m ./cmd/memspec -run '^TestHostile'

# make unit vets.
race:
	CGO_ENABLED=1 $(GO) test -vet=off -race -short $(RACE)
	CGO_ENABLED=1 $(GO) test -vet=off -race -short -run '$(RACE_ENGINE)|$(RACE_COMMAND)' ./engine ./engine/suite ./cmd/memspec

goldens:
	@.ci/goldens ./...

# The project's own budgets, by the command a newcomer runs.
check:
	$(GO) run ./cmd/memspec check

examples:
	@examples/cli/run.sh >/dev/null
	@examples/llm/run.sh >/dev/null
	@examples/ci/run.sh >/dev/null
	MEMSPEC_BUILD_TESTS=1 $(GO) test -vet=all ./cmd/memspec -run PublishedBuilds

python: $(VENV)/.stamp

# uv takes a third of pip's processor time, and compiles no module before a program imports it. pip does what uv cannot, as where
# packages come from a place that only pip knows of.
fetch = { $(VENV)/bin/uv pip install --quiet --no-cache --python $(VENV)/bin/python $(1) || \
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check $(1); }
$(VENV)/.stamp: .ci/requirements.txt
	[ -x $(VENV)/bin/python ] || $(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check $(UV) || true
	$(call fetch,-r .ci/requirements.txt)
	touch $@

# A separate environment for each .ci/requirements-NAME.txt that something below wants.
.PRECIOUS: .venv-%/.stamp
.venv-%/.stamp: .ci/requirements-%.txt
	[ -x $(@D)/bin/python ] || $(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	touch $@

# memshim's format, its rules, the table of what imports what, and its types (pyshim/pyproject.toml).
lint-python: $(VENV)/.stamp
	$(VENV)/bin/python -m ruff check --quiet pyshim
	$(VENV)/bin/python -m ruff format --quiet --check pyshim
	cd pyshim && PYTHONPATH=src ../$(VENV)/bin/lint-imports --no-logo --no-cache
	cd pyshim && ../$(VENV)/bin/python -m mypy --no-error-summary --cache-dir ../.cache/mypy

# What memspec writes for other tools, held to what is not in the tree: the schema of SARIF 2.1.0, as a Go module carries it, and tried in a browser,
# here only. Tests that want xmllint or a browser skip without them: apt-get install libxml2-utils chromium.
formats:
	MEMSPEC_BROWSER_TESTS=1 MEMSPEC_SARIF_SCHEMA=$$($(GO) mod download -json $(SARIF) | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')/pkg/report/v210/sarif/schema.go $(GO) test -vet=all ./engine/format

# The recordings of real PyTorch that are committed are what the pinned PyTorch gives.
recordings: $(VENV)/.stamp
	PYTHONPATH=pyshim/tools $(VENV)/bin/python -m truth models --check
	PYTHONPATH=pyshim/tools $(VENV)/bin/python -m truth settings --check

# -count=1 here and below: Go's cache does not know what a program reads that a test starts.
# cudaprobe, built with cgo against CUDA 11.8's headers (PyPI) and asked about a stand-in driver. It takes a C compiler, and no GPU, driver or
# toolkit. make unit leaves these tests out.
probe: $(VENV)/.stamp
	PYTHON=$(VENV)/bin/python cudameasure/cudaprobe/build.sh --fetch
	MEMSPEC_PROBE_TESTS=1 $(GO) test -vet=all -count=1 ./cudameasure -run Probe

# The shim's own tests, the wheel's with them, and cudameasure's run of the shim. They need torch and no GPU. What a test may skip for is listed in
# pyshim/tests/conftest.py; anything else fails. cuDNN is asked for all its committed answers where the library or the code has changed since it was
# (testdata/workspace/heard.json, which MEMSPEC_ASK=1 writes); else for one of 31. Three processes for two processors, since each waits for programs
# that it starts; SHARD=1/3 runs a third of the tests. A file that passed is not run again until something changes that it could read; MEMSPEC_AGAIN=1
# runs all.
test-python: $(VENV)/.stamp $(HEADERS)/.stamp
	PYTHON=$(VENV)/bin/python cudameasure/cudaprobe/build.sh --fetch
	PYTHONPATH=$(CURDIR)/pyshim/src $(VENV)/bin/python -c 'from memshim import binary; binary.find()' # built once, before several tests ask for it
	MEMSPEC_WHOLE=1 MEMSPEC_SHARD=$(SHARD) PYTHONPATH=$(CURDIR)/pyshim/src $(VENV)/bin/python -m pytest -q -rs -n 3 --max-worker-restart 0 pyshim/tests
	MEMSPEC_PYTHON_TESTS=1 $(GO) test -vet=all -count=1 ./cudameasure -run OnCPU

# CUDA's public headers, of both majors, that the pretend GPU's declarations are compared with; 100 MB.
$(HEADERS)/.stamp: .ci/requirements-headers-12.txt .ci/requirements-headers-13.txt $(VENV)/.stamp
	rm -rf $(HEADERS) && mkdir -p $(HEADERS)
	for major in 12 13; do $(call fetch,--no-deps --target $(HEADERS)/$$major -r .ci/requirements-headers-$$major.txt) || exit 1; done
	touch $@

# The same with the oldest PyTorch that is promised, in an environment of its own: another 5 GB, three minutes to fetch and one to test. Not a
# part of make test, and so not of CI, for that reason; run it before a release and where memshim asks PyTorch for something new.
test-compat: $(COMPAT)/.stamp
	PYTHONPATH=$(CURDIR)/pyshim/src $(COMPAT)/bin/python -m pytest -q -n 2 pyshim/tests

# The pretend GPU's tests with every PyTorch that it supports; half an hour, most of it to fetch them. .ci/pretend says more.
test-pretend: $(VENV)/.stamp $(HEADERS)/.stamp
	.ci/pretend $(RELEASES)

# memshim serve with the engine itself, of .ci/requirements-serve.txt or -serve-newest.txt. Not a part of make test: the environment takes 11 GB. A start takes one or two minutes of
# processor time, and may take many of them where the machine is busy.
test-serve: $(SERVE)/.stamp
	PYTHONPATH=$(CURDIR)/pyshim/src $(SERVE)/bin/python -m pytest -q -p no:cacheprovider -o faulthandler_timeout=3600 pyshim/tests/test_serve_vllm.py

examples-python: $(VENV)/.stamp
	cd examples/pytest && PYTHONPATH=../../pyshim/src ../../$(VENV)/bin/python -m pytest -q -p memshim.judge.plugin -p no:cacheprovider

fuzz:
	@.ci/fuzz

bench:
	$(GO) test -run '^$$' -bench . -benchmem -cpu 1 ./engine/... ./cmd/memspec

scale:
	MEMSPEC_SCALE=1 $(GO) test ./cmd/memspec -run TenThousand -v

# What memshim costs on a pretend GPU: imports, a training step, 200 cases, a capture. For a quiet machine.
bench-python: $(VENV)/.stamp
	PYTHONPATH=$(CURDIR)/pyshim/src $(VENV)/bin/python pyshim/tools/bench.py

# 300 take an hour of processor time, and what lives by its own package's tests up to two minutes each. Nothing in the tree changes.
N ?= 300
SEED ?= 1
ONLY ?=
PKG ?= ./engine/...,./cudameasure/...,./cmd/...,./internal/...,./assert/...
mutants:
	cd tools && $(GO) build -o ../bin/mutants ./mutants
	bin/mutants -n $(N) -seed $(SEED) -pkg $(PKG) -min 90

# A mutant of C takes the tests of its package until one fails: a minute, or ten where it lives; one of Python (ONLY=.py) those that
# execute its line: seconds, once these are recorded. Nothing in the tree changes.
mutants-python: $(VENV)/.stamp
	$(VENV)/bin/python pyshim/tools/mutants.py -n $(N) --seed $(SEED) --only '$(ONLY)'

# What cuDNN answers for the project's own cases: asked for where it is missing. The library is that of the torch in $(VENV), and those in
# the folders of CUDNN, as in `make workspace CUDNN="--cudnn DIR"`.
workspace: $(VENV)/.stamp
	PYTHONPATH=pyshim/src $(VENV)/bin/python -m memshim workspace --prune $(CUDNN)

# The committed profile has an answer to every call of the cases and no other, and each answer of the library in $(VENV) is what it says today.
workspace-current: $(VENV)/.stamp
	PYTHONPATH=pyshim/src $(VENV)/bin/python -m memshim workspace --check --prune --installed $(CUDNN)

CATALOG ?= torchvision
ORACLE ?= .cache/oracle
truth-pretend: $(VENV)/.stamp
	PYTHONPATH=pyshim/tools $(VENV)/bin/python -m truth oracle $(CATALOG) --cache $(ORACLE) $(DEVICES) $(MODELS)

# The same for 21 models of torchvision and ten of transformers with each PyTorch from 2.6 to 2.15, as a table; ten minutes a release.
truth-releases:
	RUN="pyshim/tools/truth/__main__.py releases" .ci/pretend $(RELEASES)

# Training peaks that others measured on real GPUs with torch 2.6.0, beside a pretend GPU's with that release; fetches 7 GB.
# Of the convolutional ones also with the workspaces of a cuDNN that answers without a device, and how far the formula is from that.
NEWER_CUDNN := .cache/cudnn-9.10.2
truth-xmem: $(VENV)/.stamp $(NEWER_CUDNN)/.stamp
	MEMSPEC_CUDNN=$(CURDIR)/$(NEWER_CUDNN) WITH=transformers==4.51.3 RUN=pyshim/tools/truth/xmem.py .ci/pretend 2.6.0

$(NEWER_CUDNN)/.stamp: $(VENV)/.stamp
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --target $(NEWER_CUDNN) nvidia-cudnn-cu12==9.10.2.21
	touch $@

# Programs of accelerate, transformers' Trainer, Lightning, DeepSpeed and torchtitan on several GPUs, in a separate environment.
FRAMEWORKS := .venv-frameworks
truth-frameworks: $(FRAMEWORKS)/.stamp
	PYTHONPATH=pyshim/tools DS_BUILD_OPS=0 $(FRAMEWORKS)/bin/python -m truth frameworks $(PROGRAMS)

# Small programs of every strategy. Each release has a separate environment, as in make test-pretend.
truth-ranks: $(if $(RELEASES),,$(VENV)/.stamp)
ifdef RELEASES
	RUN="pyshim/tools/truth/__main__.py ranks" .ci/pretend $(RELEASES)
else
	PYTHONPATH=pyshim/tools $(VENV)/bin/python -m truth ranks
endif

# torchtitan's own train.py of the time, from its repository, in a separate environment with the PyTorch and torchao that were released next.
RELEASE ?= 2024-12
truth-clusters: .venv-clusters-$(RELEASE)/.stamp
	PYTHONPATH=pyshim/tools .venv-clusters-$(RELEASE)/bin/python -m truth clusters --release $(RELEASE) $(ROWS)

# Published peaks. The environments of .ci/pretend are made and gone, one at a time (KEEP=1: they stay); .venv-published stays. PROGRAMS names rows.
SETS ?= $(PUBLISHED_SETS)
truth-published: truth-xmem $(SETS:%=truth-of-%)

MEASURED := pyshim/tools/truth/__main__.py measured
truth-of-attention:
	RUN="$(MEASURED) attention attention-compiled" .ci/pretend 2.11.0

truth-of-vit:
	RUN="$(MEASURED) vit" .ci/pretend 2.6.0

truth-of-classifiers:
	RUN="$(MEASURED) scripted traced" .ci/pretend 2.7.1

truth-of-snapshots:
	RUN=pyshim/tests/pretend/real_gpus.py .ci/pretend 2.10.0 2.11.0

# Six methods were measured with 2.13, the others with 2.12: their figures with the other release are no rows of the page's.
FLUX_LATER := $(addprefix flux/,deft deft-para dora-rank64 glora lokr lora-rank64)
FLUX_WITH := WITH="peft==0.20.0 diffusers==0.38.0 accelerate"
truth-of-flux: FIRST = $(if $(PROGRAMS),$(filter-out $(FLUX_LATER),$(PROGRAMS)),flux)
truth-of-flux: LATER = $(if $(PROGRAMS),$(filter $(FLUX_LATER),$(PROGRAMS)),$(FLUX_LATER))
truth-of-flux:
	$(if $(FIRST),$(FLUX_WITH) RUN="$(MEASURED) $(FIRST)" .ci/pretend 2.12.0)
	$(if $(LATER),$(FLUX_WITH) RUN="$(MEASURED) $(LATER)" .ci/pretend 2.13.0)

# Liger-Kernel's benchmarks of until July 2025, of the two months after, and of later. RECORD=--record writes what each row gave into the rows' file.
PUBLISHED := .venv-published
truth-of-liger: $(PUBLISHED)/.stamp
	PYTHONPATH=pyshim/tools $(PUBLISHED)/bin/python -m truth liger $(RECORD) $(PROGRAMS)

truth-of-liger-2.8:
	WITH="pandas transformers==4.56.2" RUN="pyshim/tools/truth/__main__.py liger $(RECORD) $(PROGRAMS)" .ci/pretend 2.8.0

truth-of-liger-later:
	WITH=pandas RUN="pyshim/tools/truth/__main__.py liger $(RECORD) $(PROGRAMS)" .ci/pretend 2.10.0

# bert-large as transformers' documents train it.
truth-of-bert: $(PUBLISHED)/.stamp
	PYTHONPATH=pyshim/tools $(PUBLISHED)/bin/python -m truth measured bert

# An image of diffusers' documents.
truth-of-sdxl:
	WITH="diffusers==0.35.1 transformers==4.56.2 accelerate" RUN="$(MEASURED) sdxl" .ci/pretend 2.8.0

# torchao's, torchtune's, litgpt's and a course's own programs.
truth-of-programs: $(PUBLISHED)/.stamp
	PYTHONPATH=pyshim/tools $(PUBLISHED)/bin/python -m truth programs $(PROGRAMS)

# Models whose largest batch is searched, in a separate environment.
FIT := .venv-fit
truth-fit: $(FIT)/.stamp
	PYTHONPATH=pyshim/tools DS_BUILD_OPS=0 $(FIT)/bin/python -m truth fit $(PROGRAMS)

# Programs of bitsandbytes, peft, trl, torchao, liger and transformers' Trainer, in a separate environment.
FINETUNE := .venv-finetune
truth-finetune: $(FINETUNE)/.stamp
	PYTHONPATH=pyshim/tools $(FINETUNE)/bin/python -m truth finetune $(PROGRAMS)

# Models and programs of testdata/measured/h100-*.csv, in a separate environment with the releases that the card had.
truth-h100: .venv-h100/.stamp
	PYTHONPATH=pyshim/tools .venv-h100/bin/python -m truth h100 $(ROWS)

truth:
	@$(GO) test ./engine -run '^Test(Truth|Workspace)Tables$$' -count=1 -v | grep -v -e '^=== ' -e '^--- ' -e '^PASS$$' -e '^ok '

# Minutes: the binary is compiled for six systems. Nothing is sent anywhere.
release: $(VENV)/.stamp
	$(VENV)/bin/python pyshim/tools/release.py dist

clean:
	rm -rf $(VENV) $(COMPAT) $(SERVE) .venv-serve-newest .venv-clusters-* .venv-h100 $(FRAMEWORKS) $(FIT) $(FINETUNE) $(PUBLISHED) bin
