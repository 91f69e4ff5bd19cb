#include "../unit.h"

#include <stdio.h>

#include "environment.h"
#include "variable-priv.h"

static bool refused(const char *name, const char *value)
{
    return variable_refusal(span_of_string(name), value) != NULL;
}

/* EV-2, IB-3, I4: every name of both earlier lists, their gaps, and a member of each family. */
static void what_loads_or_steers_is_refused(void **state)
{
    static const char *const names[] = {
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "LD_AUDIT",
        "LD_",
        "LD_ANYTHING_NEW",
        "DYLD_INSERT_LIBRARIES",
        "GLIBC_TUNABLES",
        "GCONV_PATH",
        "GETCONF_DIR",
        "LOCPATH",
        "NLSPATH",
        "MALLOC_CHECK_",
        "MALLOC_TRACE",
        "MALLOC_ARENA_MAX",
        "HOSTALIASES",
        "RES_OPTIONS",
        "LOCALDOMAIN",
        "BASH_ENV",
        "ENV",
        "CDPATH",
        "GLOBIGNORE",
        "SHELLOPTS",
        "BASHOPTS",
        "PS4",
        "PROMPT_COMMAND",
        "BASH_FUNC_ls%%",
        "BASH_FUNC_x()",
        "BASH_LOADABLES_PATH",
        "BASH_XTRACEFD",
        "ZDOTDIR",
        "PYTHONPATH",
        "PYTHONHOME",
        "PYTHONSTARTUP",
        "PYTHONINSPECT",
        "PYTHONBREAKPOINT",
        "PYTHONWARNINGS",
        "PYTHONUSERBASE",
        "PYTHONEXECUTABLE",
        "PYTHONPLATLIBDIR",
        "PYTHONPYCACHEPREFIX",
        "NODE_OPTIONS",
        "NODE_PATH",
        "NODE_EXTRA_CA_CERTS",
        "NODE_V8_COVERAGE",
        "NODE_REPL_HISTORY",
        "PERL5LIB",
        "PERL5OPT",
        "PERL5DB",
        "PERL5SHELL",
        "PERLLIB",
        "PERL_LOCAL_LIB_ROOT",
        "PERL_MB_OPT",
        "PERL_MM_OPT",
        "PERLIO",
        "PERLDB_OPTS",
        "RUBYOPT",
        "RUBYLIB",
        "RUBYSHELL",
        "RUBY_FREE_AT_EXIT",
        "GEM_HOME",
        "GEM_PATH",
        "GEM_SPEC_CACHE",
        "JAVA_TOOL_OPTIONS",
        "_JAVA_OPTIONS",
        "JDK_JAVA_OPTIONS",
        "IBM_JAVA_OPTIONS",
        "CLASSPATH",
        "DOTNET_STARTUP_HOOKS",
        "COR_PROFILER",
        "COR_ENABLE_PROFILING",
        "CORECLR_PROFILER_PATH",
        "LUA_INIT",
        "LUA_INIT_5_4",
        "LUA_PATH",
        "LUA_CPATH",
        "PHPRC",
        "PHP_INI_SCAN_DIR",
        "R_PROFILE_USER",
        "GIT_ASKPASS",
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_CONFIG_COUNT",
        "GIT_CONFIG_KEY_0",
        "GIT_CONFIG_VALUE_0",
        "GIT_CONFIG_PARAMETERS",
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "GIT_EXTERNAL_DIFF",
        "GIT_EXEC_PATH",
        "GIT_TEMPLATE_DIR",
        "GIT_PROXY_COMMAND",
        "GIT_PAGER",
        "GIT_EDITOR",
        "GDBINIT",
        "GDBHISTFILE",
        "GDB_ANYTHING",
        "LLDB_DEBUGSERVER_PATH",
        "SSH_ASKPASS",
        "SSH_ASKPASS_REQUIRE",
        "SUDO_ASKPASS",
        "GIT_ASKPASS",
        "PAGER",
        "EDITOR",
        "VISUAL",
        "MANPAGER",
        "BROWSER",
        "LESSOPEN",
        "OPENSSL_CONF",
        "OPENSSL_MODULES",
        "OPENSSL_ENGINES",
        "SSLKEYLOGFILE",
        "LAMINA_SAFE_GIT_IDENTITY",
        /* in any case, where the earlier list did not mind it */
        "ld_preload",
        "Ld_Preload",
        "dyld_x",
        "bash_env",
        "env",
        "Env",
        "cdpath",
        "pythonpath",
        "node_options",
        "perl5opt",
        "rubyopt",
        "java_tool_options",
        "git_config_global",
        "gdbinit",
        "gdb_x",
        "lldb_x",
        "ssh_askpass",
    };
    for (size_t i = 0; i < countof(names); i++) {
        if (!refused(names[i], "x") || !refused(names[i], NULL)) {
            fail_msg("%s is not refused", names[i]);
        }
    }
}

static void ordinary_switches_and_neighbours_are_not(void **state)
{
    static const char *const names[] = {
        "PYTHONHASHSEED",
        "PYTHONUNBUFFERED",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONUTF8",
        "NODE_ENV",
        "PATH",
        "HOME",
        "LANG",
        "LDFLAGS",
        "CFLAGS",
        "CC",
        "ENVIRONMENT",
        "MY_ENV",
        "XDG_CONFIG_HOME",
        "TERMINFO",
        "RUSTC_WRAPPER",
        "NODEJS_HOME",
        "LDAP_SERVER",
        "CDPATHS",
        "GITHUB_ACTIONS",
        "JAVA_HOME",
        "PHP_VERSION",
        "BASH_VERSION",
        "A",
        "_",
        "",
    };
    for (size_t i = 0; i < countof(names); i++) {
        if (refused(names[i], "x") || refused(names[i], NULL)) {
            fail_msg("%s is refused", names[i]);
        }
    }
}

static void some_exceptions_are_for_one_value_only(void **state)
{
    assert_false(refused("GIT_CONFIG_GLOBAL", "/dev/null"));
    assert_false(refused("GIT_CONFIG_NOSYSTEM", "1"));
    assert_true(refused("GIT_CONFIG_GLOBAL", "/tmp/config"));
    assert_true(refused("GIT_CONFIG_GLOBAL", "/dev/null/"));
    assert_true(refused("GIT_CONFIG_GLOBAL", ""));
    assert_true(refused("GIT_CONFIG_NOSYSTEM", "0"));
    assert_true(refused("GIT_CONFIG_NOSYSTEM", NULL));
    assert_true(refused("GIT_CONFIG_GLOBAL", NULL)); /* no value is known */
}

/* EV-3 */
static void credentials_are_known_by_their_words(void **state)
{
    static const char *const secret[] = {
        "TOKEN",
        "GITHUB_TOKEN",
        "GITHUBTOKEN",
        "githubToken",
        "gh-token",
        "npm_config__authToken",
        "PASSWORD",
        "PGPASSWORD",
        "DB_PASSWD",
        "SSH_PASSPHRASE",
        "MYSQL_PWD",
        "DB_PASS",
        "SECRET",
        "AWS_SECRET_ACCESS_KEY",
        "CLIENTSECRET",
        "SECRETS",
        "KEY",
        "API_KEY",
        "APIKEY",
        "apiKey",
        "OPENAI_API_KEY",
        "AWS_ACCESS_KEY_ID",
        "KEYS",
        "SSHKEYS",
        "S3KEY",
        "KEY_1",
        "key2",
        "ED25519KEY",
        "SSH_KEY_PATH",
        "CREDENTIAL",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "MYCREDENTIALS",
        "COOKIE",
        "SESSION_COOKIES",
        "XDG_SESSION_COOKIE",
        "SESSION",
        "PHP_SESSION",
        "SESSION_MANAGER",
        "AUTH",
        "BASIC_AUTH",
        "OAUTH",
        "SSH_AUTH_SOCK",
        "AUTHORIZATION",
        "PROXY_AUTHORIZATION",
        "BEARER",
        "GITHUB_PAT",
        "PAT",
        "JWT",
        "PRIVATEKEY_PATH",
    };
    static const char *const plain[] = {
        "PATH",
        "HOME",
        "KEYBOARD",
        "KEYMAP",
        "PATTERN",
        "COMPAT",
        "PWD",
        "OLDPWD",
        "XDG_SESSION_ID",
        "XDG_SESSION_TYPE",
        "AUTHOR",
        "GIT_AUTHOR_NAME",
        "LANG",
        "LC_ALL",
        "CFLAGS",
        "CI",
        "PASSIVE",
        "BYPASSED",
        "PATH_INFO",
        "KEYED",
        "XAUTHORITY",
        "",
    };
    for (size_t i = 0; i < countof(secret); i++) {
        if (!variable_is_credential(span_of_string(secret[i]))) {
            fail_msg("%s is taken for harmless", secret[i]);
        }
    }
    for (size_t i = 0; i < countof(plain); i++) {
        if (variable_is_credential(span_of_string(plain[i]))) {
            fail_msg("%s is taken for a credential", plain[i]);
        }
    }
}

/* EV-1: the two allowlists are not one. */
static void what_is_passed_and_what_is_recorded_differ(void **state)
{
    static const struct {
        const char *name;
        bool listed;
        bool recorded;
    } cases[] = {
        {"PATH", true, false},
        {"HOME", true, false},
        {"USER", true, false},
        {"LOGNAME", true, false},
        {"SHELL", true, false},
        {"LANG", true, true},
        {"LC_ALL", true, true},
        {"LC_", true, true},
        {"TZ", true, true},
        {"TERM", true, false},
        {"TMPDIR", true, false},
        {"XDG_STATE_HOME", true, false},
        {"CI", true, true},
        {"CC", true, true},
        {"CXX", true, true},
        {"CFLAGS", true, true},
        {"LDFLAGS", true, true},
        {"FLAGS", true, true},
        {"CARGO_HOME", true, false},
        {"GOPATH", true, false},
        {"JAVA_HOME", true, false},
        {"RUSTUP_HOME", true, false},
        {"VIRTUAL_ENV", true, false},
        {"CUDA_VISIBLE_DEVICES", false, true},
        {"OMP_NUM_THREADS", false, true},
        {"PYTHONHASHSEED", false, true},
        {"AWS_PROFILE", false, false},
        {"RUSTC_WRAPPER", false, false},
        {"EDITOR", false, false},
        {"LANGX", false, false},
        {"CIX", false, false},
        {"TOKEN_FLAGS", true, false}, /* a credential is never recorded */
    };
    for (size_t i = 0; i < countof(cases); i++) {
        struct span name = span_of_string(cases[i].name);
        if (variable_is_listed(name, "x") != cases[i].listed ||
            variable_is_recorded(name) != cases[i].recorded) {
            fail_msg("%s", cases[i].name);
        }
    }
}

static void a_job_server_of_make_is_not_passed_on(void **state)
{
    assert_true(variable_is_listed(span_of_string("MAKEFLAGS"), "-j8"));
    assert_false(variable_is_listed(span_of_string("MAKEFLAGS"), " -j8 --jobserver-auth=3,4"));
    assert_false(variable_is_listed(span_of_string("MFLAGS"), "-j8 --jobserver-fds=3,4"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_loads_or_steers_is_refused),
        cmocka_unit_test(ordinary_switches_and_neighbours_are_not),
        cmocka_unit_test(some_exceptions_are_for_one_value_only),
        cmocka_unit_test(credentials_are_known_by_their_words),
        cmocka_unit_test(what_is_passed_and_what_is_recorded_differ),
        cmocka_unit_test(a_job_server_of_make_is_not_passed_on),
    };
    return cmocka_run_group_tests_name("binding/variable", tests, NULL, NULL);
}
