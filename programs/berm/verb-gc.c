#include "archive.h"
#include "process.h"
#include "say.h"
#include "units.h"
#include "verb.h"

static int say_as_json(const struct archive *archive, const struct archive_pruned *pruned,
                       bool dry_run, struct err *err)
{
    with_json result = json_object();
    json_object_set_new(result, "folder", json_text(span_of_string(archive_folder(archive))));
    json_object_set_new(result, "dry_run", json_boolean(dry_run));
    json_object_set_new(result, "removed_runs", json_integer(pruned->runs));
    json_object_set_new(result, "removed_bytes", json_integer(pruned->bytes));
    json_object_set_new(result, "kept_runs", json_integer(pruned->kept_runs));
    json_object_set_new(result, "kept_bytes", json_integer(pruned->kept_bytes));
    return say_json(result, err);
}

static int say_as_words(const struct archive_pruned *pruned, bool dry_run, struct err *err)
{
    with_buf text = buf_new(1000);
    buf_add_format(&text, "%s %lld record%s (", dry_run ? "would remove" : "removed",
                   (long long)pruned->runs, pruned->runs == 1 ? "" : "s");
    units_add_bytes(&text, pruned->bytes);
    buf_add_format(&text, "); %lld stay%s (", (long long)pruned->kept_runs,
                   pruned->kept_runs == 1 ? "s" : "");
    units_add_bytes(&text, pruned->kept_bytes);
    buf_add_string(&text, ")\n");
    return say_result(&text, err);
}

int verb_gc(const struct options *options, struct verb_end *ret_end, struct err *err)
{
    bool dry_run = options_given(options, OPTION_DRY_RUN);
    with_archive archive = archive_open(os_environment_all(), err);
    struct archive_pruned pruned;
    if (!archive || archive_prune(archive, dry_run, &pruned, err) < 0) {
        return -1;
    }
    return options_given(options, OPTION_JSON) ? say_as_json(archive, &pruned, dry_run, err)
                                               : say_as_words(&pruned, dry_run, err);
}
