#include "say.h"
#include "verb.h"

#ifndef BERM_VERSION
#error "the build names the version"
#endif

int verb_version(const struct options *options, struct verb_end *ret_end, struct err *err)
{
    if (options_given(options, OPTION_JSON)) {
        with_json version =
            json_pack("{s:s, s:s, s:s, s:s, s:[s, s, s]}", "name", "berm", "version", BERM_VERSION,
                      "compiler", __VERSION__, "jansson", JANSSON_VERSION, "formats", "berm.run/v1",
                      "lamina.safe-runner-report/v1", "lamina.safe-runner-envelope/v1");
        BUG_IF(!version);
        return say_json(version, err);
    }
    with_buf text = buf_new(100);
    buf_add_string(&text, "berm " BERM_VERSION "\n");
    return say_result(&text, err);
}
