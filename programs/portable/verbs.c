/* The verbs that a host without the mechanisms has in words of their own. */
#include "contain.h"
#include "host.h"
#include "portable.h"
#include "say.h"
#include "text.h"
#include "verb.h"

enum { PATH_SIZE = 4096, TEXT_BYTES = 65536 };

static json_t *attestation(void)
{
    return json_pack("{s:b, s:n, s:n, s:b, s:b, s:s, s:s}", "valid", 0, "expected_fingerprint",
                     "value", "qualification_available", 0, "qualified_for_production_tiers", 0,
                     "adapter", HOST_ADAPTER, "reason", HOST_LACKS);
}

static void describe(struct buf *out, const struct envelope *envelope)
{
    buf_add_string(out, "host       ");
    text_neutralise(out, span_of_string(envelope->host_name));
    buf_add_string(out, ", release ");
    text_neutralise(out, span_of_string(envelope->kernel_release));
    buf_add_string(out, "\nadapter    " HOST_ADAPTER "\nlabel      uncontained\n"
                        "attested   no: " HOST_LACKS "\ninstead    " HOST_REMEDY "\n");
}

int verb_envelope(const struct options *options, struct verb_end *ret_end, struct err *err)
{
    char cwd[PATH_SIZE];
    struct envelope envelope;
    struct contain contain;
    int result = os_working_folder(cwd, sizeof cwd);
    if (result < 0) {
        return err_sys(err, result, "ask for the working folder");
    }
    host_envelope(&envelope);
    if (!options_given(options, OPTION_JSON)) {
        with_buf text = buf_new(TEXT_BYTES);
        describe(&text, &envelope);
        return say_result(&text, err);
    }
    host_contain(&contain);
    with_json json = envelope_to_json(&envelope, cwd);
    contain_add_to_envelope(&contain, json);
    json_object_set_new(json, "attestation", attestation());
    return say_json(json, err);
}

#define REFUSED(function, lacks)                                                                   \
    int function(const struct options *options, struct verb_end *ret_end, struct err *err)         \
    {                                                                                              \
        return err_set(err, ERR_UNAVAILABLE, "%s: %s; %s", options->verb->name, (lacks),           \
                       HOST_REMEDY);                                                               \
    }
REFUSED(verb_show, "there are no runs here, since " HOST_LACKS)
REFUSED(verb_config, "folders of a project are opened by openat2(2), which this host lacks")
REFUSED(verb_daemon, "there is no run that could hold a daemon, since " HOST_LACKS)
REFUSED(verb_recover, "there are no runs to recover, since " HOST_LACKS)
REFUSED(verb_gc, "there are no kept snapshots, since " HOST_LACKS)
REFUSED(verb_promotions, "no workload has succeeded here, since " HOST_LACKS)
REFUSED(verb_fence, "no work is fenced here, since " HOST_LACKS)
REFUSED(verb_toolchain, "a runtime is staged through openat2(2), which this host lacks")
