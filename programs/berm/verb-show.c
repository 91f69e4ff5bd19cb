#include <string.h>
#include <unistd.h>

#include "archive.h"
#include "json-file.h"
#include "lookup.h"
#include "memory.h"
#include "process.h"
#include "say.h"
#include "summary.h"
#include "validate.h"
#include "verb.h"

/* A word with a slash or a point is a file; ids have neither. */
static bool is_file(const char *word)
{
    return strpbrk(word, "/.") != NULL;
}

static json_t *read_archived(const char *word, char **ret_place, struct err *err)
{
    with_archive archive = archive_open(os_environment_all(), err);
    char id[RUN_ID_SIZE];
    if (!archive || archive_find(archive, word, id, err) < 0) {
        return NULL;
    }
    *ret_place = archive_path(archive, id, ".json");
    return archive_read(archive, id, err);
}

static json_t *read_file(const char *path, char **ret_place, struct err *err)
{
    json_t *record = json_file_read(path, err);
    *ret_place = memory_copy_string(path);
    return record;
}

/* A file may come from anywhere: what is not a valid record is not explained. */
static int check(const json_t *record, const char *place, struct err *err)
{
    with_strvec faults = {0};
    size_t count = json_is_object(lookup(record, "report")) ? validate_run_record(record, &faults)
                                                            : validate_report(record, &faults);
    if (count == 0) {
        return 0;
    }
    if (validate_is_of_later_berm(record)) {
        return err_set(err, ERR_UNAVAILABLE, "'%s' cannot be read: %s", place, faults.strings[0]);
    }
    return err_set(err, ERR_CORRUPT,
                   "'%s' is no valid record: %s%s; all of it: berm validate-report --file %s",
                   place, faults.strings[0], count > 1 ? " and more" : "", place);
}

int verb_show(const struct options *options, struct verb_end *ret_end, struct err *err)
{
    const char *word = options->operands.count > 0 ? options->operands.strings[0] : "last";
    with_string place = NULL;
    with_json record =
        is_file(word) ? read_file(word, &place, err) : read_archived(word, &place, err);
    if (!record || check(record, place, err) < 0) {
        return -1;
    }
    if (options_given(options, OPTION_JSON)) {
        return say_json(record, err);
    }
    const struct summary_view view = {.place = place,
                                      .home = os_environment("HOME"),
                                      .exit_code = -1,
                                      .colour = say_in_colour(STDOUT_FILENO)};
    with_buf text = buf_new(SUMMARY_BYTES);
    summary_render(record, &view, &text);
    return say_result(&text, err);
}
