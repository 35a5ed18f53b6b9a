# skyring: every task of this repository. `make help` lists them.

GO              ?= go
GOLANGCI_LINT   := $(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GOVULNCHECK     := $(GO) run golang.org/x/vuln/cmd/govulncheck@v1.9.0
DEMO_SEED       ?= 7
FUZZTIME        ?= 20s
# what the tests need, each as the file that shows it is there (in PATH, or absolute) and its Debian package
TOOLS           := redis-server:redis-server tshark:tshark systemd-analyze:systemd \
                   cc:gcc /usr/include/stdio.h:libc6-dev /usr/include/usrsctp.h:libusrsctp-dev ip:iproute2

.DEFAULT_GOAL := help

.PHONY: help
help: ## list these tasks
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

.PHONY: build
build: ## build bin/skyring
	$(GO) build -trimpath -buildvcs=auto -o bin/skyring ./cmd/skyring

# what interop-kernel needs besides; the kernel's package is downloaded by the test, and not installed
KERNEL_TOOLS    := qemu-system-x86_64:qemu-system-x86 busybox:busybox-static modprobe:kmod /usr/share/seabios:seabios

.PHONY: deps
deps: ## install what the tests need and this machine lacks (Debian packages, as root)
	@missing=""; \
	for p in $(TOOLS); do command -v "$${p%:*}" >/dev/null 2>&1 || [ -e "$${p%:*}" ] || missing="$$missing $${p#*:}"; done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then \
		echo "the tests need$$missing: install them (on Debian: apt-get install$$missing) or run make test as root" >&2; exit 1; \
	fi; \
	echo "installing$$missing with apt-get, which the tests need"; \
	apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing

.PHONY: test
test: deps ## pass all tests (installs what they need with apt-get when missing, see deps)
	$(GO) vet ./...
	$(GO) test -shuffle=on -timeout 20m ./...
	$(GO) -C testbed/peers test ./...

.PHONY: race
race: deps ## the tests under the race detector
	$(GO) test -race -shuffle=on -timeout 40m ./...

.PHONY: fuzz
fuzz: ## every fuzz target for FUZZTIME (20s) each
	@set -e; for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "fuzz $$pkg $$target for $(FUZZTIME)"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; \
	done

.PHONY: bench
bench: ## every benchmark once; read the ratios
	$(GO) test -run '^$$' -bench . -benchmem ./...

.PHONY: bench-ring
bench-ring: ## the ring beside other projects' ways to place keys, in one process
	$(GO) -C testbed/peers run .

.PHONY: interop
interop: deps ## SCTP with usrsctp, both directions
	CI=true $(GO) test -count=1 -v ./testbed/interop/...

.PHONY: interop-kernel
interop-kernel: ## SCTP with the Linux kernel's, under qemu (installs qemu, downloads a kernel; takes minutes)
	$(MAKE) deps TOOLS="$(TOOLS) $(KERNEL_TOOLS)"
	apt-get update -qq
	CI=true $(GO) test -tags interopkernel -count=1 -v -timeout 100m -parallel 3 -run 'Kernel' ./testbed/interop/

.PHONY: flood
flood: ## what floods leave of a live association's rate, INIT, garbage, spoofed packets and DTLS hellos
	$(GO) test -run '^$$' -bench 'Flood' -benchtime 1x ./protocol/transport

.PHONY: lint
lint: ## golangci-lint, pinned
	$(GOLANGCI_LINT) run ./...

.PHONY: vuln
vuln: ## govulncheck, pinned (asks the Go vulnerability database)
	$(GOVULNCHECK) ./...

.PHONY: tidy
tidy: ## go.mod, go.sum and formatting
	$(GO) mod tidy
	$(GOLANGCI_LINT) fmt ./...

.PHONY: demo
demo: build ## start everything on this machine: replay a seeded capture, then stations that call each other while a processor is killed
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	echo "1. a seeded capture of signalling, replayed through a stack of its own" && \
	bin/skyring trace generate --seed $(DEMO_SEED) --output "$$dir/demo.pcapng" && \
	bin/skyring replay "$$dir/demo.pcapng" && \
	echo "2. earth stations log on and call each other; a processor is killed, another added" && \
	bin/skyring stations --seed $(DEMO_SEED) --count 200 --calls 20 --seconds 12 --kill-processor --add-processor

.PHONY: check
check: lint race vuln ## what a change must pass
	git diff --exit-code go.mod go.sum
