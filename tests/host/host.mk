# host.mk - the virtual test host, for the top Makefile

.PHONY: host-image check-host host-shell bench-host
host-image: ## build the image of the virtual test host, as root or with sudo
	@tests/host/image --sudo

check-host: ## what needs systemd and cgroup v2, in the virtual test host
	@tests/host/check

host-shell: ## a shell in the virtual test host
	@tests/host/run --shell

bench-host: ## what a managed run costs beside the same made by hand, in the virtual test host
	@tests/host/run --timeout 900 --in tests -- ./bench/managed
