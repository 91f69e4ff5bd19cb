#include "variable-priv.h"

#include <ctype.h>
#include <strings.h>

#include "attributes.h"
#include "environment.h"

/* How a row's text is compared with a name. */
enum match { EXACT, PREFIX, SUFFIX };

struct pattern {
    const char *text;
    enum match match;
    bool any_case;
};

static bool same(const char *a, const char *b, size_t n, bool any_case)
{
    return any_case ? strncasecmp(a, b, n) == 0 : memcmp(a, b, n) == 0;
}

static bool pattern_matches(const struct pattern *pattern, struct span name)
{
    size_t n = strlen(pattern->text);
    switch (pattern->match) {
    case EXACT:
        return name.n == n && same(name.p, pattern->text, n, pattern->any_case);
    case PREFIX:
        return name.n >= n && same(name.p, pattern->text, n, pattern->any_case);
    case SUFFIX:
        return name.n >= n && same(name.p + name.n - n, pattern->text, n, pattern->any_case);
    default:
        BUG("no such match");
    }
}

#define FAMILY(text_)                                                                              \
    {                                                                                              \
        (text_), PREFIX, false                                                                     \
    }
#define NAME(text_)                                                                                \
    {                                                                                              \
        (text_), EXACT, false                                                                      \
    }
/* Refused in any case: programs on other systems, and some wrappers, do not mind the case. */
#define ANY_CASE_FAMILY(text_)                                                                     \
    {                                                                                              \
        (text_), PREFIX, true                                                                      \
    }
#define ANY_CASE_NAME(text_)                                                                       \
    {                                                                                              \
        (text_), EXACT, true                                                                       \
    }

#define LOADER     "makes the dynamic loader load code or look elsewhere for it"
#define LIBC       "makes the C library read files or change behaviour"
#define SHELL      "makes a shell run or read something at its start"
#define PYTHON     "makes Python load code or look elsewhere for it"
#define NODE       "makes Node.js load code, trust or write files"
#define PERL       "makes Perl load code or look elsewhere for it"
#define RUBY       "makes Ruby load code or look elsewhere for it"
#define JAVA       "makes a Java machine load agents or classes"
#define DOTNET     "makes .NET load code"
#define OTHER_LANG "makes an interpreter run or load code at its start"
#define GIT        "steers git: its configuration, helpers or the repository it works on"
#define DEBUGGER   "makes a debugger read commands at its start"
#define ASKPASS    "names a program that is run to ask for a password"
#define COMMAND    "names a command that other programs run by themselves"
#define RESOLVER   "steers how host names are resolved"
#define TRUST      "makes a TLS library load code or trust other certificates"

/* EV-2 and IB-3. The sources of the rows are the manuals of the programs they name. */
static const struct {
    struct pattern pattern;
    const char *reason;
} refused[] = {
    {ANY_CASE_FAMILY("LD_"), LOADER},
    {ANY_CASE_FAMILY("DYLD_"), LOADER},
    {NAME("GLIBC_TUNABLES"), LIBC},
    {NAME("GCONV_PATH"), "makes the C library load character converters, which are code"},
    {NAME("GETCONF_DIR"), "makes getconf run programs from a folder"},
    {NAME("LOCPATH"), LIBC},
    {NAME("NLSPATH"), LIBC},
    {NAME("LOCALDOMAIN"), RESOLVER},
    {NAME("HOSTALIASES"), RESOLVER},
    {NAME("RES_OPTIONS"), RESOLVER},
    {NAME("RESOLV_HOST_CONF"), RESOLVER},
    {NAME("RESOLV_ADD_TRIM_DOMAINS"), RESOLVER},
    {NAME("RESOLV_OVERRIDE_TRIM_DOMAINS"), RESOLVER},
    {FAMILY("MALLOC_"), LIBC},
    {NAME("NIS_PATH"), RESOLVER},
    {NAME("GMON_OUT_PREFIX"), LIBC},
    {NAME("PCPROFILE_OUTPUT"), LIBC},

    {ANY_CASE_NAME("BASH_ENV"), SHELL},
    {ANY_CASE_NAME("ENV"), SHELL},
    {ANY_CASE_NAME("CDPATH"), SHELL},
    {NAME("GLOBIGNORE"), SHELL},
    {NAME("SHELLOPTS"), SHELL},
    {NAME("BASHOPTS"), SHELL},
    {NAME("BASH_LOADABLES_PATH"), SHELL},
    {NAME("BASH_XTRACEFD"), "makes a shell write into a descriptor"},
    {NAME("PS4"), "is expanded, commands included, by a shell that traces"},
    {NAME("PROMPT_COMMAND"), SHELL},
    {FAMILY("BASH_FUNC_"), "defines a shell function, which may replace a command"},
    {NAME("ZDOTDIR"), SHELL},
    {NAME("FPATH"), SHELL},

    {ANY_CASE_NAME("PYTHONPATH"), PYTHON},
    {ANY_CASE_NAME("PYTHONHOME"), PYTHON},
    {ANY_CASE_NAME("PYTHONSTARTUP"), PYTHON},
    {FAMILY("PYTHON"), PYTHON},

    {ANY_CASE_NAME("NODE_OPTIONS"), NODE},
    {ANY_CASE_NAME("NODE_EXTRA_CA_CERTS"), NODE},
    {FAMILY("NODE_"), NODE},

    {ANY_CASE_NAME("PERL5LIB"), PERL},
    {ANY_CASE_NAME("PERL5OPT"), PERL},
    {FAMILY("PERL"), PERL},

    {ANY_CASE_NAME("RUBYLIB"), RUBY},
    {ANY_CASE_NAME("RUBYOPT"), RUBY},
    {FAMILY("RUBY"), RUBY},
    {FAMILY("GEM_"), RUBY},

    {ANY_CASE_NAME("JAVA_TOOL_OPTIONS"), JAVA},
    {NAME("_JAVA_OPTIONS"), JAVA},
    {NAME("JDK_JAVA_OPTIONS"), JAVA},
    {NAME("JDK_JAVAC_OPTIONS"), JAVA},
    {NAME("IBM_JAVA_OPTIONS"), JAVA},
    {NAME("OPENJ9_JAVA_OPTIONS"), JAVA},
    {NAME("CLASSPATH"), JAVA},

    {NAME("DOTNET_STARTUP_HOOKS"), DOTNET},
    {NAME("DOTNET_ADDITIONAL_DEPS"), DOTNET},
    {NAME("DOTNET_SHARED_STORE"), DOTNET},
    {FAMILY("COR_"), DOTNET},
    {FAMILY("CORECLR_"), DOTNET},

    {FAMILY("LUA_"), OTHER_LANG},
    {NAME("PHPRC"), OTHER_LANG},
    {NAME("PHP_INI_SCAN_DIR"), OTHER_LANG},
    {NAME("TCLLIBPATH"), OTHER_LANG},
    {NAME("GUILE_LOAD_PATH"), OTHER_LANG},
    {NAME("GUILE_LOAD_COMPILED_PATH"), OTHER_LANG},
    {NAME("R_PROFILE"), OTHER_LANG},
    {NAME("R_PROFILE_USER"), OTHER_LANG},
    {NAME("R_ENVIRON"), OTHER_LANG},
    {NAME("R_ENVIRON_USER"), OTHER_LANG},
    {NAME("JULIA_LOAD_PATH"), OTHER_LANG},
    {NAME("ERL_FLAGS"), OTHER_LANG},
    {NAME("ERL_AFLAGS"), OTHER_LANG},
    {NAME("ERL_ZFLAGS"), OTHER_LANG},
    {NAME("ELIXIR_ERL_OPTIONS"), OTHER_LANG},
    {NAME("AWKPATH"), OTHER_LANG},
    {NAME("AWKLIBPATH"), OTHER_LANG},

    {ANY_CASE_FAMILY("GIT_CONFIG_"), GIT},
    {ANY_CASE_NAME("GIT_ASKPASS"), GIT},
    {FAMILY("GIT_"), GIT},

    {ANY_CASE_NAME("GDBINIT"), DEBUGGER},
    {ANY_CASE_NAME("GDBHISTFILE"), DEBUGGER},
    {ANY_CASE_FAMILY("GDB_"), DEBUGGER},
    {ANY_CASE_FAMILY("LLDB_"), DEBUGGER},
    {NAME("VALGRIND_OPTS"), DEBUGGER},

    {ANY_CASE_NAME("SSH_ASKPASS"), ASKPASS},
    {NAME("SSH_ASKPASS_REQUIRE"), ASKPASS},
    {{"_ASKPASS", SUFFIX, false}, ASKPASS},

    {NAME("EDITOR"), COMMAND},
    {NAME("VISUAL"), COMMAND},
    {NAME("SUDO_EDITOR"), COMMAND},
    {NAME("PAGER"), COMMAND},
    {NAME("MANPAGER"), COMMAND},
    {NAME("SYSTEMD_PAGER"), COMMAND},
    {NAME("BROWSER"), COMMAND},
    {NAME("LESSOPEN"), COMMAND},
    {NAME("LESSCLOSE"), COMMAND},

    {NAME("OPENSSL_CONF"), TRUST},
    {NAME("OPENSSL_CONF_INCLUDE"), TRUST},
    {NAME("OPENSSL_MODULES"), TRUST},
    {NAME("OPENSSL_ENGINES"), TRUST},
    {NAME("SSLKEYLOGFILE"), "makes a TLS library write its session keys into a file"},
    {NAME("GTK_MODULES"), "makes a GTK program load code"},
    {NAME("GTK_PATH"), "makes a GTK program load code"},
    {NAME("GIO_EXTRA_MODULES"), "makes a GLib program load code"},
    {NAME("GIO_MODULE_DIR"), "makes a GLib program load code"},
    {NAME("QT_PLUGIN_PATH"), "makes a Qt program load code"},
    {NAME("KRB5_CONFIG"), "makes a Kerberos library load code or trust another realm"},
    {NAME("KRB5_KDC_PROFILE"), "makes a Kerberos library load code or trust another realm"},

    /* Names of the earlier runner whose values its own launcher seals. */
    {NAME("LAMINA_SAFE_GIT_IDENTITY"), "is set by a runner for its own payload and by nobody else"},
};

/* Exceptions: ordinary switches that load nothing. A value stands for that exact value only. */
static const struct {
    const char *name;
    const char *value;
} allowed[] = {
    {"PYTHONHASHSEED", NULL},
    {"PYTHONUNBUFFERED", NULL},
    {"PYTHONDONTWRITEBYTECODE", NULL},
    {"PYTHONIOENCODING", NULL},
    {"PYTHONUTF8", NULL},
    {"PYTHONFAULTHANDLER", NULL},
    {"PYTHONNOUSERSITE", NULL},
    {"PYTHONSAFEPATH", NULL},
    {"NODE_ENV", NULL}, /* read by packages, not by Node.js */
    {"PERL_HASH_SEED", NULL},
    {"GIT_CONFIG_GLOBAL", "/dev/null"},
    {"GIT_CONFIG_NOSYSTEM", "1"},
};

static bool is_allowed(struct span name, const char *value)
{
    for (size_t i = 0; i < countof(allowed); i++) {
        if (span_equals(name, allowed[i].name)) {
            return !allowed[i].value || (value && strcmp(value, allowed[i].value) == 0);
        }
    }
    return false;
}

const char *variable_refusal(struct span name, const char *value)
{
    if (is_allowed(name, value)) {
        return NULL;
    }
    for (size_t i = 0; i < countof(refused); i++) {
        if (pattern_matches(&refused[i].pattern, name)) {
            return refused[i].reason;
        }
    }
    return NULL;
}

/* Passed to the child by default. RUSTC_WRAPPER, TERMINFO and their like are neither listed nor
 * refused: the first is no more than CC is, the second names data, and who wants them asks. */
static const struct pattern listed[] = {
    NAME("PATH"),       NAME("HOME"),        NAME("USER"),
    NAME("LOGNAME"),    NAME("SHELL"),       NAME("LANG"),
    FAMILY("LC_"),      NAME("TZ"),          NAME("TERM"),
    NAME("TMPDIR"),     FAMILY("XDG_"),      NAME("CI"),
    NAME("CC"),         NAME("CXX"),         {"FLAGS", SUFFIX, false},
    NAME("CARGO_HOME"), NAME("RUSTUP_HOME"), NAME("GOPATH"),
    NAME("JAVA_HOME"),  NAME("VIRTUAL_ENV"),
};

static bool matches_any(const struct pattern *patterns, size_t count, struct span name)
{
    for (size_t i = 0; i < count; i++) {
        if (pattern_matches(&patterns[i], name)) {
            return true;
        }
    }
    return false;
}

bool variable_is_listed(struct span name, const char *value)
{
    /* A make above us names descriptors of its job server, which no payload inherits: passed on,
     * every make below would warn and fall back to one job. */
    if (value && (span_equals(name, "MAKEFLAGS") || span_equals(name, "MFLAGS")) &&
        strstr(value, "--jobserver")) {
        return false;
    }
    return matches_any(listed, countof(listed), name);
}

/* What tells a reader of a record how the same command could behave differently elsewhere. No path
 * below somebody's home, no address, no name of a person. */
static const struct pattern recorded[] = {
    NAME("LANG"),
    FAMILY("LC_"),
    NAME("TZ"),
    NAME("CI"),
    NAME("CC"),
    NAME("CXX"),
    {"FLAGS", SUFFIX, false},
    NAME("CUDA_VISIBLE_DEVICES"),
    NAME("HIP_VISIBLE_DEVICES"),
    NAME("ROCR_VISIBLE_DEVICES"),
    {"_NUM_THREADS", SUFFIX, false},
    NAME("GOMAXPROCS"),
    NAME("PYTHONHASHSEED"),
    NAME("PYTHONUNBUFFERED"),
    NAME("SOURCE_DATE_EPOCH"),
};

bool variable_is_recorded(struct span name)
{
    return matches_any(recorded, countof(recorded), name) && !variable_is_credential(name) &&
           !variable_refusal(name, NULL);
}

/* Words of a credential's name. Long ones are found anywhere (GITHUBTOKEN), short ones only as a
 * word of their own or at the end of one (APIKEY, OAUTH), so that KEYBOARD and PATH are none. */
static const char *const anywhere[] = {
    "token",  "password",      "passwd", "passphrase", "secret",     "credential",
    "cookie", "authorization", "bearer", "apikey",     "privatekey",
};
static const char *const word_or_ending[] = {"key", "keys", "auth"};
static const char *const whole_word[] = {"pass",      "pwd", "pat", "session",
                                         "sessionid", "jwt", "otp"};

/* Names of these words that hold nothing secret. */
static const char *const harmless[] = {
    "PWD",
    "OLDPWD",
    "XDG_SESSION_ID",
    "XDG_SESSION_TYPE",
    "XDG_SESSION_CLASS",
    "XDG_SESSION_DESKTOP",
};

static bool word_is_credential(struct span word)
{
    for (size_t i = 0; i < countof(word_or_ending); i++) {
        struct pattern ending = {word_or_ending[i], SUFFIX, true};
        if (pattern_matches(&ending, word)) {
            return true;
        }
    }
    for (size_t i = 0; i < countof(whole_word); i++) {
        struct pattern whole = {whole_word[i], EXACT, true};
        if (pattern_matches(&whole, word)) {
            return true;
        }
    }
    return false;
}

static bool holds(struct span name, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= name.n; i++) {
        if (strncasecmp(name.p + i, word, n) == 0) {
            return true;
        }
    }
    return false;
}

/* The end of the word that starts at `start`: letters, up to anything else or an inner capital. */
static size_t word_end(struct span name, size_t start)
{
    size_t end = start;
    while (end < name.n && isalpha((unsigned char)name.p[end])) {
        if (end > start && isupper((unsigned char)name.p[end]) &&
            islower((unsigned char)name.p[end - 1])) {
            break;
        }
        end++;
    }
    return end;
}

bool variable_is_credential(struct span name)
{
    for (size_t i = 0; i < countof(harmless); i++) {
        if (span_equals(name, harmless[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < countof(anywhere); i++) {
        if (holds(name, anywhere[i])) {
            return true;
        }
    }
    for (size_t start = 0; start < name.n;) {
        size_t end = word_end(name, start);
        if (end == start) {
            start++;
            continue;
        }
        if (word_is_credential(span_of(name.p + start, end - start))) {
            return true;
        }
        start = end;
    }
    return false;
}
