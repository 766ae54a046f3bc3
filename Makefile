# sfstat. The targets that people use: build, demo, test, check. `make help`.
# Only Go is needed; with a C compiler the program reads GPUs by NVML, and the race detector
# runs. The tests of the recorder want Python 3.8 or later.

GO          ?= go
VERSION     ?= $(shell git describe --tags --match 'v[0-9]*' --always --dirty 2>/dev/null)
STATICCHECK ?= honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK ?= golang.org/x/vuln/cmd/govulncheck@v1.8.0
FUZZTIME    ?= 15s
FUZZ        ?=
MUTANTS     ?= 200
MUTANTTIME  ?= 20m
SEED        ?= 0
LIST        ?=
BENCH       ?= .
PYTHON      ?= python3

# The compiler collects its garbage less often, which takes a fifth off the time of
# a build, and so do the tests and the programs that they start.
COMPILE = GOGC=800 $(GO)
TEST    = $(COMPILE) test -exec 'env GOGC=400' -vet=off -shuffle=on

# What is stripped off at the end need not be made: no tables for a debugger. The
# tags leave out HTTP/2 and manual pages, which libraries bring and nothing calls, and
# let Go look up hosts and users itself, with cgo as without.
# The program, vet and the tests take the same flags, so that packages are compiled
# once for all three.
LEAN  = -trimpath -tags nethttpomithttp2,urfave_cli_no_docs,netgo,osusergo -gcflags=all=-dwarf=false
STRIP = -s -w

# With a C compiler the program has NVML, which is loaded when GPUs are sampled: its functions must
# not be looked up before, as they are where a linker is told to bind now. CGO=0 builds a static program, without it.
CGO  ?= $(shell [ "$$($(GO) env GOOS)" = linux ] && command -v "$$($(GO) env CC)" >/dev/null && echo 1 || echo 0)
NVML  = $(subst urfave,nvml$(comma)urfave,$(LEAN))
LAZY  = -extldflags=-Wl,-z,lazy,--build-id=none
comma = ,
export CGO_CFLAGS = -O1 -g0 -Wno-deprecated-declarations

# Packages that start goroutines, in code or in tests: there the race detector
# has something to find. It takes ten times as long, so of each package it runs
# what works side by side; of the program two scripts, and nothing of what needs
# a GPU or a Slurm.
RACE_PKGS = $(shell grep -rlE --include='*.go' -e '^[[:space:]]*go [[:alpha:]]' -e '[.]Go[[:punct:]]func' . | xargs -n1 dirname | sort -u | grep -vE '^./(cmd/sfstat|eval/campaign/slurm|ingest/kineto)$$')
RACE_TESTS = Threads|Processors|Determinism|ChangeNothing|Context|RankFails|CloseEarly|FolderOfTraces|Progress|Pipe$$|CallsAndKernels|EndToEnd|Example
RACE_PROGRAM = Interrupt|Panic|Progress|TestScripts/(diagnose|output)$$

NPM ?= npm

.PHONY: help page build bin/sfstat man demo test test-nvml test-page race calibrate test-recorder test-python wheel test-wheel release check fmt vet lint vuln layers tidy mutants bench paper accuracy metamorphic archives fuzz cover clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

build: bin/sfstat bin/THIRD_PARTY_LICENSES.txt ## bin/sfstat, and the licences of what is linked into it (CGO=0: static, without NVML)

bin/sfstat:
	@if [ '$(CGO)' = 0 ]; then echo 'without NVML: that needs Linux and a C compiler; sfstat sample reads GPUs by nvidia-smi'; fi
	CGO_ENABLED=$(CGO) $(COMPILE) build $(NVML) -ldflags '$(STRIP) $(LAZY) -X main.version=$(VERSION)' -o bin/sfstat ./cmd/sfstat

bin/THIRD_PARTY_LICENSES.txt: go.mod internal/licenses/main.go
	mkdir -p bin && CGO_ENABLED=0 $(COMPILE) build $(LEAN) -o bin/licenses ./internal/licenses && CGO_ENABLED=$(CGO) bin/licenses -o $@ -- $(NVML) && rm bin/licenses

demo: bin/sfstat ## the verdict on a recording of a real job
	bin/sfstat diagnose fixtures/ddp/host-callback-r8-s0.jsonl

test: vet test-nvml test-recorder test-python ## everything that must hold: vet, all tests in random order, the recorder, the Python package
	@echo 'statistical tests take a part of their draws: make calibrate takes all'
	CGO_ENABLED=0 $(TEST) $(LEAN) -ldflags '$(STRIP)' ./...

test-nvml: ## what samples GPUs by NVML, on the library's own mock; where there is a C compiler
	@if [ '$(CGO)' = 0 ]; then echo 'NOT RUN: the tests of NVML need Linux and a C compiler'; \
	else echo 'go test ./sample, with cgo'; CGO_ENABLED=1 $(COMPILE) vet $(NVML) ./sample && CGO_ENABLED=1 $(TEST) $(NVML) -ldflags '$(STRIP) $(LAZY)' ./sample; fi

calibrate: ## all tests with all draws of the statistical ones, as the documentation quotes them
	SFSTAT_CALIBRATE=1 CGO_ENABLED=0 $(TEST) $(LEAN) -ldflags '$(STRIP)' ./...

race: ## the race detector, where goroutines are started
	@if ! command -v "$$($(GO) env CC)" >/dev/null; then echo 'NOT RUN: the race detector needs a C compiler, and there is none'; \
	else echo 'go test -race …'; export GORACE=atexit_sleep_ms=0 CGO_ENABLED=1; \
	$(TEST) -race -run '$(RACE_TESTS)' $(RACE_PKGS) && $(TEST) -race -run '$(RACE_PROGRAM)' ./cmd/sfstat; fi

test-recorder: ## the tests of the Python package; those with PyTorch only where it is installed
	@if ! command -v $(PYTHON) >/dev/null; then echo 'NOT RUN: the tests of the recorder need Python 3.8 or later, and there is no $(PYTHON)'; \
	else cd recorder && PYTHONDONTWRITEBYTECODE=1 $(PYTHON) -W error::ResourceWarning -m unittest discover -t . -s tests; fi

test-python: build ## the tests of the Python package; what needs pandas, PySpark or Java only where they are installed
	@if ! command -v $(PYTHON) >/dev/null; then echo 'NOT RUN: the tests of the Python package need Python 3.8 or later, and there is no $(PYTHON)'; \
	else cd python && SFSTAT=$(CURDIR)/bin/sfstat PYTHONDONTWRITEBYTECODE=1 $(PYTHON) -m unittest discover -t . -s tests; fi

wheel: build ## dist/sfstat-*.whl of this machine: the program on the path, the Python packages
	SFSTAT_PROGRAM=$(CURDIR)/bin/sfstat SFSTAT_PLATFORM=$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_platform().replace("-", "_").replace(".", "_"))') \
	  $(PYTHON) -m pip wheel --no-deps -w dist ./python

test-wheel: wheel ## the wheel in an environment of its own: a verdict from the command line and from Python
	folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && $(PYTHON) -m venv "$$folder" && "$$folder/bin/pip" install -q --no-index dist/sfstat-*-py3-none-$$($(PYTHON) -c 'import sysconfig; print(sysconfig.get_platform().replace("-", "_").replace(".", "_"))').whl && \
	cd "$$folder" && env -u SFSTAT PATH="$$folder/bin" sfstat $(CURDIR)/fixtures/ddp/host-callback-r8-s0.jsonl | head -n 3 && \
	env -u SFSTAT PATH=/nowhere bin/python -c 'import sfstat, sfstat_recorder; print(sfstat.diagnose("$(CURDIR)/fixtures/ddp/host-callback-r8-s0.jsonl").headline)'

release: ## dist/: archives, wheels, bill of materials and checksums of all platforms, the same bytes from the same commit
	GO='$(GO)' PYTHON='$(PYTHON)' packaging/release.sh

# Node and a browser are not everywhere: where they lack, that is said.
test-page: build ## the page of sfstat report in a browser (Node, npm, Chromium)
	@if ! command -v node >/dev/null || ! command -v $(NPM) >/dev/null; then echo 'NOT RUN: the tests of the page need Node and npm'; \
	elif ! command -v "$${CHROMIUM:-chromium}" >/dev/null; then echo 'NOT RUN: the tests of the page need Chromium'; \
	elif ! (cd page/ui && $(NPM) ci --no-audit --no-fund --loglevel=error); then echo 'NOT RUN: npm could not fetch what the tests of the page need'; \
	else cd page/ui && node build.mjs --check && SFSTAT=$(CURDIR)/bin/sfstat node --test --test-reporter=spec test/; fi

check: fmt vet lint layers tidy vuln ## what review would say: format, vet, staticcheck, import direction, go.mod, known vulnerabilities

fmt:
	@out=$$(git ls-files -z --cached --others --exclude-standard '*.go' | xargs -0 gofmt -s -l); \
	if [ -n "$$out" ]; then echo "gofmt -s would change:"; echo "$$out"; exit 1; fi

vet:
	CGO_ENABLED=0 $(COMPILE) vet $(LEAN) ./...

lint:
	$(COMPILE) run $(STATICCHECK) ./...

layers:
	$(GO) run ./internal/layers

tidy:
	$(GO) mod tidy -diff

# The vulnerability database is on the network. Without it there is no answer,
# which is said and does not fail the check; a finding does.
vuln:
	@out=$$($(COMPILE) run $(GOVULNCHECK) ./... 2>&1); code=$$?; echo "$$out"; \
	if [ $$code -ne 0 ] && echo "$$out" | grep -qE 'fetching vulnerabilities:|dial tcp|no such host|i/o timeout|Forbidden'; then \
	echo 'NOT CHECKED: the vulnerability database could not be reached'; exit 0; fi; exit $$code

bench: ## all benchmarks, for benchstat (BENCH=regexp)
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./...

page: ## page/web/dist: the script and style of sfstat report (Node)
	cd page/ui && $(NPM) ci --no-audit --no-fund && node build.mjs

man: ## bin/sfstat.1: the manual page, from the table of commands
	mkdir -p bin && CGO_ENABLED=0 $(TEST) $(LEAN) -ldflags '$(STRIP)' ./cmd/sfstat -run TestManPage -count=1 -man $(CURDIR)/bin/sfstat.1

PAPER ?= paper

paper: build ## every table and figure of the published texts that needs no cluster, in the folder PAPER with index.html (a minute)
	bin/sfstat campaign run eval/campaign/specs/paper.yaml -o $(PAPER)
	mkdir -p $(PAPER)/communication/job $(PAPER)/measured $(PAPER)/overhead $(PAPER)/figures
	rm -rf $(PAPER)/sources && cp -r fixtures/real/e9 $(PAPER)/sources
	rm -f $(PAPER)/overhead/*.csv && cp docs/figures/overhead/*.csv $(PAPER)/overhead
	cp fixtures/comm/run/* fixtures/comm/truth.csv fixtures/comm/model.yaml $(PAPER)/communication/job
	cp docs/figures/pause.csv $(PAPER)/measured/pause-by-workers.csv
	cp docs/figures/intervals.csv $(PAPER)/measured/overhead-by-interval.csv
	bin/sfstat frontier $(PAPER)/runs/e3-r8-data-120ms-r8-s0.parquet --plot $(PAPER)/figures/window.svg -o $(PAPER)/window.txt
	bin/sfstat simulate --operators --layout 4x2 --steps 8 --microbatches 4 --seed 3 --fault slow-worker,dp=2,pp=1,factor=1.8 --run slow -o $(PAPER)/operators
	bin/sfstat ks $(PAPER)/operators/trace-slow.parquet --independent --plot $(PAPER)/figures/kair-distances.svg -o $(PAPER)/operators/ks.txt
	bin/sfstat zscore $(PAPER)/operators/trace-slow.parquet --independent --plot $(PAPER)/figures/kair-operator.svg -o $(PAPER)/operators/zscore.txt
	bin/sfstat blame $(PAPER)/operators/trace-slow.parquet -o $(PAPER)/operators/blame.txt
	bin/sfstat selfcheck > $(PAPER)/selfcheck.txt
	bin/sfstat campaign run eval/campaign/specs/paper-cluster.yaml --dry-run -o $(PAPER)/cluster
	bin/sfstat campaign report $(PAPER)

ACCURACY ?= accuracy.csv
SHARED   ?= $(or $(SFSTAT_SHARED),../shared)

# Recordings and scenarios of the shared data are scored where they are; PyTorch jobs
# that eval/realjobs/jobs.py ran with ACCURACY_MORE='-jobs FOLDER'.
accuracy: build ## docs/accuracy.md and ACCURACY (accuracy.csv): how often verdicts and comparisons are right (minutes)
	rm -rf bin/accuracy && mkdir -p bin/accuracy
	bin/sfstat campaign run eval/campaign/specs/paper.yaml -o bin/accuracy/paper
	if [ -e $(SHARED)/tools/scenarios.py ]; then for seed in 500 900; do $(PYTHON) $(SHARED)/tools/scenarios.py --write bin/accuracy/scenarios $$seed 20; done; fi
	$(GO) run ./eval/accuracy score -sfstat bin/sfstat $$([ -e bin/accuracy/scenarios ] && echo -scenarios bin/accuracy/scenarios) \
	  -fixtures fixtures $$([ -e $(SHARED)/data ] && echo -shared $(SHARED)/data) -campaign bin/accuracy/paper -composed 40 -windows 5 -operators 1200 -comparisons 100 $(ACCURACY_MORE) -o $(ACCURACY)
	$(GO) run ./eval/accuracy page $(ACCURACY) > bin/accuracy/page.md && mv bin/accuracy/page.md docs/accuracy.md

METAMORPHIC ?= metamorphic.csv

# Without the shared data its recordings are left out, which is said.
metamorphic: ## METAMORPHIC (metamorphic.csv): recordings changed in ways whose effect on a verdict is known; fails where another cell fails than is known to (minutes)
	CGO_ENABLED=0 $(COMPILE) run $(LEAN) -ldflags '$(STRIP)' ./eval/metamorphic -fixtures fixtures -shared $(SHARED)/data -o $(METAMORPHIC)

# With duckdb in PYTHON, DuckDB is measured beside it. A small form, and 10 GB:
# make archives ARCHIVES='-windows 2000 -large 20'
# make archives ARCHIVES='-gigabytes 10 -rounds 1'
archives: build ## bin/archives.md: sfstat batch on 100,000 windows, and on large ones, timed (minutes; idle, 1 GB)
	duckdb=$$($(PYTHON) -c 'import duckdb' 2>/dev/null && echo $(PYTHON)); \
	$(GO) run ./bench/archives -sfstat bin/sfstat -python "$$duckdb" $(ARCHIVES) > bin/archives.tmp && mv bin/archives.tmp bin/archives.md

# Mutants are small errors put into copies of the code of the judge; those alive show where a test is missing. The
# same SEED draws the same ones; LIST=internal/mutants/judge.yaml runs those that are named there.
mutants: ## MUTANTS errors drawn by lot in the packages that judge: which of them no test finds (MUTANTTIME)
	@CGO_ENABLED=0 GOGC=800 $(GO) run $(LEAN) ./internal/mutants -n $(MUTANTS) -seed '$(SEED)' -time $(MUTANTTIME) -list '$(LIST)' -- $(LEAN) -ldflags '$(STRIP)'

fuzz: ## every fuzz target for FUZZTIME, at least 1,000 executions each (FUZZ=regexp)
	CGO_ENABLED=0 $(GO) run ./internal/fuzz -time $(FUZZTIME) -only '$(FUZZ)' -- $(LEAN)

cover: ## coverage.out and the share of statements per function
	$(GO) test -coverprofile=coverage.out -coverpkg=./... ./...
	@$(GO) tool cover -func=coverage.out | tail -n 1

clean:
	rm -rf bin dist coverage.out
