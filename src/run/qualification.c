#include "qualification.h"

#include <fcntl.h>
#include <string.h>

#include "archive.h"
#include "contain.h"
#include "daemon-message.h"
#include "file.h"
#include "helper-image.h"
#include "infrastructure.h"
#include "memory.h"
#include "process.h"
#include "validate.h"

#define TREE "/sys/fs/cgroup"

enum { TEXT_SIZE = 4096, PROGRAM_MAX_BYTES = 1 << 30, SCHEMA_BYTES = 1 << 20 };

/* --- programs ------------------------------------------------------------------------------------ */

static char *hash_file(const char *path, struct err *err)
{
    const struct bfs_rule rule = {.maximum_bytes = PROGRAM_MAX_BYTES, .allow_links = true};
    char hex[HASH_HEX_SIZE];
    with_bfs_file file = {0};
    with_fd place = fd_adopt(os_openat(AT_FDCWD, path, O_PATH, 0));
    if (!fd_is_open(&place)) {
        (void)err_sys(err, fd_error(&place), "cannot open '%s'", path);
        return NULL;
    }
    if (bfs_file_open_fd(fd_num(&place), path, &rule, &file, err) < 0 ||
        bfs_file_hash(&file, hex, err) < 0) {
        return NULL;
    }
    return memory_copy_string(hex);
}

static char *hash_span(struct span bytes)
{
    char hex[HASH_HEX_SIZE];
    struct hash hash;
    hash_init(&hash);
    hash_add(&hash, bytes.p, bytes.n);
    hash_hex(&hash, hex);
    return memory_copy_string(hex);
}

char *qualification_build(struct err *err)
{
    return hash_file("/proc/self/exe", err);
}

static char *hash_bubblewrap(char *const *environment, struct err *err)
{
    struct infrastructure_request request;
    with_binding bwrap = NULL;
    if (infrastructure_pin(environment, &request, err) < 0 ||
        infrastructure_bind_bwrap(&request, &bwrap, err) < 0) {
        return NULL;
    }
    return memory_copy_string(binding_file_identity(bwrap, 0)->sha256);
}

char *qualification_fixture(struct err *err)
{
    static const char name[] = "berm-fixture";
    static const char *const places[] = {"/../" BERM_LIBEXEC "/berm", "/../fixture"};
    char own[TEXT_SIZE];
    ssize_t n = os_readlinkat(AT_FDCWD, "/proc/self/exe", own, sizeof own);
    char *slash = n > 0 ? strrchr(own, '/') : NULL;
    if (!slash) {
        (void)err_sys(err, (int)n, "cannot tell where berm itself lies");
        return NULL;
    }
    *slash = '\0';
    for (size_t i = 0; i < countof(places); i++) {
        struct err ignored = {0};
        struct bfs_facts facts;
        with_bfs_dir folder = {0};
        with_string path = memory_format("%s%s", own, places[i]);
        if (bfs_dir_open(AT_FDCWD, path, BFS_TRUST_ANY, &folder, &ignored) == 0 &&
            bfs_stat(&folder, name, &facts, &ignored) == 0 && S_ISREG(facts.mode)) {
            return memory_format("%s/%s", folder.path, name); /* a physical path */
        }
    }
    (void)err_set(
        err, ERR_NOT_FOUND,
        "the fixtures of the self-test are not there: no '%s' in '%s%s'; install berm whole", name,
        own, places[0]);
    return NULL;
}

/* --- the host ------------------------------------------------------------------------------------ */

static char *read_line(const char *path, struct err *err)
{
    char text[TEXT_SIZE];
    ssize_t n = os_read_small(AT_FDCWD, path, text, sizeof text);
    if (n < 0) {
        (void)err_sys(err, (int)n, "cannot read '%s'", path);
        return NULL;
    }
    text[strcspn(text, "\n")] = '\0';
    return memory_copy_string(text);
}

static char *schema_of(const struct record *record, struct err *err)
{
    with_json schema = record_schema(record);
    with_buf text = buf_new(SCHEMA_BYTES);
    if (json_write(schema, JSON_CANONICAL, &text, err) < 0) {
        return NULL;
    }
    with_string digest = hash_span(buf_span(&text));
    return memory_format("%s %s", record->name, digest);
}

static int read_names(struct attestation_host *host, struct err *err)
{
    struct utsname names;
    struct err missing = {0};
    int result = os_uname(&names);
    if (result < 0) {
        return err_sys(err, result, "cannot ask which kernel runs");
    }
    host->machine_id = read_line("/etc/machine-id", &missing);
    if (!host->machine_id || host->machine_id[0] == '\0') {
        memory_free(host->machine_id);
        host->machine_id = memory_format("host %s", names.nodename);
    }
    host->kernel_release = memory_copy_string(names.release);
    host->architecture = memory_copy_string(names.machine);
    host->boot_id = read_line("/proc/sys/kernel/random/boot_id", err);
    return host->boot_id ? 0 : -1;
}

/* Of the cgroup that scopes are made in, as far as systemd lays it out as it does by itself. */
static char *read_controllers(const struct scope_offer *offer)
{
    struct err ignored = {0};
    unsigned uid = os_geteuid();
    with_string path =
        offer->adapter == SCOPE_DELEGATED ? memory_format("%s/cgroup.controllers", offer->place)
        : offer->adapter == SCOPE_SYSTEMD_USER
            ? memory_format(TREE "/user.slice/user-%u.slice/user@%u.service/cgroup.controllers",
                            uid, uid)
            : memory_copy_string(TREE "/cgroup.controllers");
    char *text = read_line(path, &ignored);
    return text ? text : memory_copy_string("");
}

static int read_cgroups(const struct scope_offer *offer, struct attestation_host *host,
                        struct err *err)
{
    struct scope_manager manager;
    host->adapter = memory_copy_string(scope_adapter_id(offer->adapter));
    host->controllers = read_controllers(offer);
    host->root_controllers = read_line(TREE "/cgroup.controllers", err);
    host->root_subtree_control =
        host->root_controllers ? read_line(TREE "/cgroup.subtree_control", err) : NULL;
    if (!host->root_subtree_control || scope_manager_read(offer, &manager, err) < 0) {
        return -1;
    }
    host->systemd_version = memory_copy_string(manager.version);
    host->manager = memory_copy_string(manager.identity);
    host->libsystemd = manager.library ? hash_file(manager.library, err) : memory_copy_string("");
    return host->libsystemd ? 0 : -1;
}

static int read_build(char *const *environment, struct attestation_host *host, struct err *err)
{
    with_string fixture = qualification_fixture(err);
    host->fixture = fixture ? hash_file(fixture, err) : NULL;
    host->build = host->fixture ? qualification_build(err) : NULL;
    host->bubblewrap = host->build ? hash_bubblewrap(environment, err) : NULL;
    host->report_schema = host->bubblewrap ? schema_of(&report_v1_record, err) : NULL;
    host->run_schema = host->report_schema ? schema_of(&run_v1_record, err) : NULL;
    host->helper = hash_span(helper_image());
    host->daemon_integration = memory_format("protocol %d", CONTEXT_VERSION);
    return host->run_schema ? 0 : -1;
}

int qualification_read_host(char *const *environment, const struct scope_offer *offer,
                            struct attestation_host *ret_host, struct err *err)
{
    with_attestation_host host = {0};
    if (offer->adapter == SCOPE_NONE) {
        return err_set(err, ERR_UNAVAILABLE, "no adapter of this host enforces anything");
    }
    if (read_names(&host, err) < 0 || read_cgroups(offer, &host, err) < 0 ||
        read_build(environment, &host, err) < 0) {
        return -1;
    }
    *ret_host = host;
    host = (struct attestation_host){0};
    return 0;
}

/* --- the judgement ------------------------------------------------------------------------------- */

static int judge(char *const *environment, const struct scope_offer *offer,
                 const struct bfs_dir *folder, struct qualification *qualification, struct err *err)
{
    char hex[HASH_HEX_SIZE];
    with_attestation attestation = {0};
    with_attestation_host host = {0};
    with_buf why = buf_new(TEXT_SIZE);
    int there = attestation_read(folder, &attestation, err);
    if (there <= 0) {
        buf_add_string(&why, "no self-test has been made here; run `berm self-test`");
    } else {
        qualification->value = record_encode(&attestation_record, &attestation);
        struct err unreadable = {0};
        if (qualification_read_host(environment, offer, &host, &unreadable) < 0) {
            buf_add_format(&why, "this host cannot be compared with it: %s", unreadable.msg);
            there = 0;
        } else {
            attestation_fingerprint(&host, hex);
            qualification->fingerprint = memory_copy_string(hex);
            there = attestation_judge(&attestation, folder, &host, &why, err);
        }
    }
    qualification->valid = there == 1;
    qualification->reason = there == 0 ? memory_copy_string(buf_string(&why)) : NULL;
    return there < 0 ? -1 : 0;
}

int qualification_read(char *const *environment, const struct scope_offer *offer,
                       struct qualification *ret_qualification, struct err *err)
{
    *ret_qualification = (struct qualification){
        .available = offer->adapter != SCOPE_NONE,
        .adapter = offer->adapter != SCOPE_NONE ? scope_adapter_id(offer->adapter)
                                                : "portable-process-group-small-only"};
    if (!ret_qualification->available) {
        ret_qualification->reason =
            memory_copy_string("the adapter enforces nothing, so there is nothing to qualify");
        return 0;
    }
    struct err seen = {0};
    with_bfs_dir folder = {0};
    int result = archive_open_state(environment, &folder, &seen);
    if (result == 0) {
        ret_qualification->reason =
            memory_copy_string("no self-test has been made here; run `berm self-test`");
        return 0;
    }
    if (result < 0 || judge(environment, offer, &folder, ret_qualification, &seen) < 0) {
        ret_qualification->reason = memory_copy_string(seen.msg);
        return err_set(err, seen.code, "%s", seen.msg);
    }
    return 0;
}

json_t *qualification_to_json(const struct qualification *qualification)
{
    json_t *json = json_object();
    json_object_set_new(json, "valid", json_boolean(qualification->valid));
    json_object_set_new(json, "expected_fingerprint",
                        qualification->fingerprint ? json_string(qualification->fingerprint)
                                                   : json_null());
    json_object_set_new(json, "value",
                        qualification->value ? json_incref(qualification->value) : json_null());
    json_object_set_new(json, "qualification_available", json_boolean(qualification->available));
    json_object_set_new(json, "qualified_for_production_tiers", json_boolean(qualification->valid));
    json_object_set_new(json, "adapter", json_string(qualification->adapter));
    json_object_set_new(json, "reason",
                        qualification->reason ? json_text(span_of_string(qualification->reason))
                                              : json_null());
    return json;
}

void qualification_done(struct qualification *qualification)
{
    if (qualification) {
        memory_free(qualification->reason);
        memory_free(qualification->fingerprint);
        json_decref(qualification->value);
        *qualification = (struct qualification){0};
    }
}
