# host.mk - the virtual test host, for the top Makefile

.PHONY: host-image check-host host-shell
host-image: ## build the image of the virtual test host, as root or with sudo
	@tests/host/image --sudo

check-host: ## what needs systemd and cgroup v2, in the virtual test host
	@tests/host/check

host-shell: ## a shell in the virtual test host
	@tests/host/run --shell
