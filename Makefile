# Everything here but `make rules` needs Go and nothing else. `make` alone lists what there is.

GO      ?= go
MIN_GO  := go1.26
LINT    := bin/golangci-lint
LINT_AT := v2.15.0

# The race detector needs a C compiler; without one the tests still run. CI insists on it.
CC_FOUND := $(shell command -v $$($(GO) env CC 2>/dev/null) 2>/dev/null)
RACE     := $(if $(CC_FOUND),-race)

.DEFAULT_GOAL := help
.PHONY: help build test breakages fuzz lint shapes rules run demo proof proof-full ablation endurance report pictures simulate scale smoke bench go-ready race-ready

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' Makefile

build: go-ready ## Build bin/holdfast
	@$(GO) build -trimpath -o bin/holdfast ./cmd/holdfast

run: build ## Open the shop on http://127.0.0.1:8080 until Ctrl-C
	@bin/holdfast up --logs out/logs

demo: build ## Watch it die undefended and live defended: ninety-seconds, about three minutes
	@mkdir -p out
	@bin/holdfast loadtest run ninety-seconds --json out/ninety-seconds.json

proof: build ## Play every incident, predicted and judged: out/proof.json, under 45 minutes
	@bin/holdfast loadtest proof

proof-full: build ## The same with true ninety seconds of fault
	@bin/holdfast loadtest proof --fault-seconds 90

ablation: build ## What each defence is worth: alone, missing, together, about eleven minutes
	@bin/holdfast loadtest ablate ninety-seconds --fault-seconds 20 --json out/ablation.json

endurance: build ## Five minutes with recommendations held, at two fifths of the capacity measured before
	@bin/holdfast loadtest endurance --json out/endurance.json

report: build ## Tell what make proof and make ablation have shown: out/report.html, out/report.md and a line
	@bin/holdfast loadtest report out

pictures: build ## Draw the README's picture from out/ninety-seconds.json, as make demo or make proof left it
	@bin/holdfast loadtest picture out/ninety-seconds.json docs/pictures

simulate: build ## Set simulations of all scenarios beside what make proof has measured, in seconds
	@bin/holdfast simulate against out

scale: build ## Past one machine, simulated: a thousand instances at 200,000 requests/s, in under a minute
	@bin/holdfast simulate scale

smoke: build ## The short proof: undefended against defended, 20 s of fault
	@bin/holdfast loadtest run ninety-seconds --acts off,on --fault-seconds 20

test: go-ready race-ready ## Run every test (with the race detector where there is a C compiler)
	@$(if $(RACE),CGO_ENABLED=1,echo 'no C compiler found: testing without the race detector' >&2;) \
		$(GO) test $(RACE) -timeout 15m ./...

breakages: go-ready ## Break each defence on purpose, line by line: a named test must turn red
	@$(GO) test -count=1 -timeout 10m -run '^TestBreakages$$' ./pkg/resilience -breakages

FUZZ_TIME ?= 30s
fuzz: go-ready ## Throw noise at everything that reads what others send: FUZZ_TIME, 30s for each target
	@grep -rEo --include='*_test.go' '^func Fuzz[[:alnum:]_]+' . | while IFS=: read -r file target; do \
		$(GO) test -run '^$$' -fuzz "^$${target#func }\$$" -fuzztime $(FUZZ_TIME) "$${file%/*}" || exit 1; done

bench: go-ready ## Measure a guarded call beside what people use today: about three minutes
	@cd bench && $(GO) run . -json ../out/bench.json

lint: go-ready $(LINT) ## Run the linters of .golangci.yml, and our own (docs/unbounded.md)
	@$(LINT) run ./...
	@$(GO) build -trimpath -o bin/unbounded ./cmd/unbounded && bin/unbounded ./...

shapes: go-ready $(LINT) ## Print what unbounded and other linters say of each shape of unbounded call
	@$(GO) run ./lint/shapes -golangci-lint $(LINT)

PROMTOOL ?= promtool
rules: ## Check what Prometheus is given, and that each alert fires when it should and not else
	@command -v $(PROMTOOL) >/dev/null || { \
		echo 'promtool is missing: apt-get install prometheus, or https://prometheus.io/download/' >&2; exit 1; }
	@$(PROMTOOL) check config deploy/prometheus/prometheus.yml
	@$(PROMTOOL) test rules deploy/prometheus/tests/*.yml

# Installed from a version, not required by go.mod: the linter and its licence stay out of the module.
$(LINT): Makefile
	@echo 'building golangci-lint $(LINT_AT): some minutes, once' >&2
	@GOBIN=$(CURDIR)/bin GOFLAGS= $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINT_AT)
	@touch $(LINT)

go-ready:
	@command -v $(GO) >/dev/null || { \
		echo 'Go is missing. Holdfast needs $(MIN_GO) or newer and nothing else: https://go.dev/dl/' >&2; exit 1; }
	@found=$$($(GO) env GOVERSION); \
	[ "$$(printf '%s\n' $(MIN_GO) "$$found" | sort -V | head -n 1)" = $(MIN_GO) ] || { \
		echo "Go is too old: found $${found:-an unknown version}, Holdfast needs $(MIN_GO) or newer: https://go.dev/dl/" >&2; exit 1; }

race-ready:
	@[ "$(CI)" != true ] || [ -n "$(RACE)" ] || { \
		echo 'CI=true: the tests must run with the race detector, which needs a C compiler (apt-get install gcc)' >&2; exit 1; }
