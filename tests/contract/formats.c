/* formats.c
 *
 * The formats of reports and records as the library knows them, for who compares or writes them down:
 *
 *   formats schema FORMAT         the JSON Schema
 *   formats tables FORMAT         the markdown tables of the format's page
 *   formats check FORMAT          for each JSON text on stdin, ended by NUL: a line "valid", or
 *                                 "invalid" and the faults
 *
 * FORMAT is report, run, attestation, promotions, fences or project (which has no check).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attestation.h"
#include "entrypoint.h"
#include "fence.h"
#include "json.h"
#include "memory.h"
#include "project.h"
#include "promotion.h"
#include "validate.h"

static size_t validate_attestation(const json_t *json, struct strvec *faults)
{
    return record_faults(&attestation_record, json, faults);
}

static size_t validate_promotions(const json_t *json, struct strvec *faults)
{
    return record_faults(&promotions_record, json, faults);
}

static size_t validate_fences(const json_t *json, struct strvec *faults)
{
    return record_faults(&fences_record, json, faults);
}

static const struct format {
    const char *name;
    const struct record *record; /* NULL: it is that of berm.yaml, a form */
    size_t (*validate)(const json_t *json, struct strvec *faults);
    void (*document)(struct buf *out);
    const char *end; /* where another format's own page takes over */
} formats[] = {
    {"report", &report_v1_record, validate_report, validate_document_report, NULL},
    {"run", &run_v1_record, validate_run_record, validate_document_run,
     "\n## `lamina.safe-runner-report/v1`"},
    {"project", NULL, NULL, entrypoint_document, NULL},
    {"attestation", &attestation_record, validate_attestation, NULL, NULL},
    {"promotions", &promotions_record, validate_promotions, NULL, NULL},
    {"fences", &fences_record, validate_fences, NULL, NULL},
};

static int write_schema(const struct format *format)
{
    with_json schema =
        format->record ? record_schema(format->record) : form_schema(&project_form, "berm.yaml");
    with_buf text = buf_new(1 << 20);
    if (json_write(schema, JSON_READABLE, &text, NULL) < 0) {
        return 1;
    }
    fputs(buf_string(&text), stdout);
    return 0;
}

static int write_tables(const struct format *format)
{
    with_buf text = buf_new(1 << 20);
    if (!format->record) {
        form_document(&project_form, &text);
        buf_add_char(&text, '\n');
        format->document(&text);
        fputs(buf_string(&text), stdout);
        return 0;
    }
    record_document(format->record, &text);
    const char *end = format->end ? strstr(buf_string(&text), format->end) : NULL;
    if (end) {
        buf_cut(&text, (size_t)(end - buf_string(&text)));
    }
    if (format->document) {
        buf_add_string(&text, "\n## Rules\n\n");
        format->document(&text);
    }
    fputs(buf_string(&text), stdout);
    return 0;
}

static void check_text(const struct format *format, struct span text)
{
    struct err err = {0};
    with_json json = json_read(text, &json_budget_report, &err);
    with_strvec faults = {0};
    if (!json) {
        printf("invalid %s\n", err.msg);
    } else if (format->validate(json, &faults) == 0) {
        puts("valid");
    } else {
        fputs("invalid", stdout);
        for (size_t i = 0; i < faults.count; i++) {
            printf(" %s;", faults.strings[i]);
        }
        putchar('\n');
    }
}

static int check_all(const struct format *format)
{
    if (!format->validate) {
        return 2;
    }
    char *text = NULL;
    size_t size = 0;
    ssize_t length;
    while ((length = getdelim(&text, &size, '\0', stdin)) > 0) {
        check_text(format,
                   span_of(text, text[length - 1] == '\0' ? (size_t)length - 1 : (size_t)length));
        fflush(stdout);
    }
    free(text);
    return 0;
}

static const struct {
    const char *name;
    int (*run)(const struct format *format);
} duties[] = {{"schema", write_schema}, {"tables", write_tables}, {"check", check_all}};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 3 && i < countof(duties); i++) {
        for (size_t j = 0; j < countof(formats); j++) {
            if (strcmp(argv[1], duties[i].name) == 0 && strcmp(argv[2], formats[j].name) == 0) {
                return duties[i].run(&formats[j]);
            }
        }
    }
    fputs("usage: formats schema|tables|check report|run|project|attestation|promotions|fences\n",
          stderr);
    return 2;
}
