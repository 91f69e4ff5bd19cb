"""The rules that keep the rooms apart, as functions of what they judge.

Each returns its faults as sentences; none means that the rule holds. test-layering asks them about
the tree, test-rules about small trees that break each of them.
"""

import re

# What may differ from a rule, and why. A line here is an open debt or a decision.
PROCESS_EXCEPTIONS = {  # (file, name): reason
    ("src/contain/filter.c", "SYS_clone"): "a number in the table of what is closed",
    ("src/contain/filter.c", "SYS_clone3"): "the same",
    ("programs/helper/reaper.c", "os_clone_child"): "in a sandbox the first process is the parent",
    ("programs/helper/reaper.c", "os_execveat"): "and its child becomes the payload",
    # the self-test's payload, which berm holds like any other
    ("programs/fixture/main.c", "os_clone_child"): "it is to have children",
    ("programs/fixture/controller.c", "os_clone_child"): "it runs a berm of its own",
    ("programs/fixture/controller.c", "os_execveat"): "the same",
}
PATH_EXCEPTIONS = {  # file: reason
    "programs/generate/man.c": "tells what the variable is for",
    "src/preflight/audit-words.c": "looks for the word in scripts, and not at any value",
}
CHANGE_EXCEPTIONS = {  # (file, name): reason; FS-8's list of gaps, to be documented in SECURITY.md
    ("programs/helper/mounts.c", name): "in the file system that it just mounted"
    for name in ("os_mkdirat", "O_CREAT")
} | {
    ("programs/helper/devices.c", name): "the same" for name in ("os_mkdirat", "os_symlinkat")
} | {
    ("programs/portable/replace.c", name): "where bfs/ cannot be"
    for name in ("O_CREAT", "os_unlinkat", "os_renameat")
} | {
    ("programs/fixture/main.c", "O_CREAT"): "a payload that fills its private file system",
    ("programs/helper/confine.c", "os_mkdirat"): "an attempt there that its own rules must refuse",
} | {
    (f"programs/helper/{part}.c", name): "the watchdog has no heap, and nothing but what it holds open"
    for part, names in {
        "watch-manifest": ("os_link_fd", "os_renameat", "os_unlinkat", "O_TMPFILE", "O_CREAT"),
        "watch-slot": ("os_fallocate", "os_ftruncate", "os_link_fd", "os_renameat", "os_unlinkat",
                       "O_TMPFILE", "O_CREAT"),
        "watch-start": ("os_mkdirat", "os_unlinkat"),
        "watch-tree": ("os_unlinkat",),
        "watch-daemon": ("os_unlinkat",),
    }.items() for name in names
}
SYMBOL_EXCEPTIONS = {
    ("base/err.c", "write"): "the last words of BUG(), before abort()",
    ("verb-context.c", "berm_context_read"): "lib/context, for programs that have no os/",
} | {
    ("verb-daemon.c", f"berm_daemon_{step}"): "the same"
    for step in ("reserve", "bind", "start", "lock_ready", "seal")
}
# Sources that are proved by a test of another name: parts of one thing that mean nothing apart.
PROVED_BY = {f"src/{source}.c": test for test, sources in {
    # the redactor's walk over a text: by the forms that its page lists
    "tests/unit/report/test-redact.c": ("report/scan",),
    # tables without code, and the rules that only the validator asks
    "tests/unit/report/test-validate.c": ("report/report-v1", "report/rules", "report/run-v1"),
    # the words of the audit, and what they name: through what it makes of whole scripts
    "tests/unit/preflight/test-audit.c": ("preflight/audit-words", "preflight/audit-paths"),
    # the host as it is, which the test of what follows from it reads as well
    "tests/unit/preflight/test-envelope.c": ("preflight/envelope-read",),
    # the few calls of the portable program: through the program itself
    "tests/contract/portable.py": ("os/portable",),
    # what contain.c chose, told
    "tests/unit/contain/test-contain.c": ("contain/adapter",),
    # what is closed in a root, and why one is refused
    "tests/unit/contain/test-sandbox-roots.c": ("contain/sandbox-git",),
    # what needs systemd or a cgroup of its own: further in tests/host/t/60-scope.py
    "tests/unit/contain/test-scope.c": ("contain/scope-bus", "contain/scope-systemd", "contain/scope-unit"),
    # runs of the self-test: with real ones in tests/host/t/70-self-test.py
    "tests/unit/qualify/test-qualify.c": ("qualify/outer", "qualify/parent-signal", "qualify/result",
                                            "qualify/single"),
    # a stage of a run, which only a run has the facts for
    "tests/unit/run/test-run.c": ("run/publish",),
    "tests/unit/run/test-daemon.c": ("run/daemon-text",),
}.items() for source in sources}

# What code outside os/ may take from libc: but for memory itself, nothing here makes a system call.
LIBC = set("""
    abort bsearch calloc ctype_b_loc ctype_tolower_loc errno_location free getauxval gmtime_r
    gnu_dev_makedev
    libc_current_sigrtmax libc_current_sigrtmin libc_start_main malloc memchr memcmp memcpy memmem
    memmove memrchr memset mempcpy qsort qsort_r realloc sigabbrev_np sigaddset sigdelset
    sigdescr_np sigemptyset sigfillset sigismember snprintf sscanf stack_chk_fail strcasecmp strchr
    strchrnul strcmp strcspn strdup strerrordesc_np strerrorname_np strlen strncasecmp strncmp
    strndup strnlen strpbrk strrchr strsep strspn strstr strtod strtol strtoll strtoul strtoull
    timegm vsnprintf
""".split())
LIBRARIES = re.compile(r"json_(?!(?:load|dump)(?:f|fd|_file)$)\w+|jansson_\w+"
                       r"|SHA256_\w+|OPENSSL_cleanse|CRYPTO_memcmp"
                       r"|yaml_(?:parser|event)_(?!set_input_file$|set_input$)\w+")
# A sanitizer, coverage or the linker, not our code.
TOOLCHAIN = re.compile(r"__(asan|ubsan|sanitizer|sancov|gcov|llvm)_\w+|_GLOBAL_OFFSET_TABLE_"
                       r"|__(tls_get_addr|dso_handle)")

CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def without_comments(text, strings=True):
    """C text with comments blanked, and string literals too unless `strings`; lines stay."""
    def blank(match):
        token = match[0]
        if token[0] == "/" or (token[0] == '"' and not strings):
            return " " + "\n" * token.count("\n")
        return token
    return CODE.sub(blank, text)


def lines_with(pattern, text):
    for number, line in enumerate(text.splitlines(), 1):
        for match in re.finditer(pattern, line):
            yield number, match


def module_order(meson_text):
    """The modules in the order in which src/meson.build makes them."""
    return re.findall(r"static_library\(\s*'(\w+)'", meson_text)


def module_of(path):
    """base of "src/base/buf.h"; None outside src/."""
    match = re.match(r"(?:.*/)?src/(\w+)/[^/]+$", path)
    return match[1] if match else None


# -- (a) direction

def direction_fault(order, user, header):
    owner = module_of(header)
    mine = module_of(user)
    if owner is None or owner == mine:
        return None
    if header.endswith("-priv.h"):
        return f"{user} includes {header}, which is private to {owner}"
    if mine is not None and mine in order and owner in order and \
            order.index(owner) > order.index(mine):
        return f"{user} includes {header}: {owner} comes after {mine}"
    return None


def dependency_faults(order, listing):
    """Over the text of `ninja -t deps`, paths below the tree: what each object was made from."""
    faults = []
    for block in re.split(r"\n(?=\S)", listing):
        files = [line.strip() for line in block.splitlines()[1:] if line.strip()]
        sources = [file for file in files if file.endswith(".c")]
        if not sources:
            continue
        source = sources[0]
        tested = re.match(r"tests/unit/(\w+)/", source)
        for header in files:
            if tested and module_of(header) == tested[1]:
                continue  # a unit test may look at the private half of its own module
            fault = direction_fault(order, source, header)
            if fault:
                faults.append(fault)
    return faults


def include_faults(order, files):
    """Over {path: text} of src/: the include lines themselves, header by header."""
    homes = {}
    for path in files:
        if path.endswith(".h"):
            homes.setdefault(path.rsplit("/", 1)[1], []).append(path)
    faults = [f"{' and '.join(paths)}: the same name twice, so an include could mean either"
              for paths in homes.values() if len(paths) > 1]
    for path, text in files.items():
        for number, match in lines_with(r'^\s*#\s*include\s+"([^"]+)"', text):
            name = match[1]
            if "/" in name:
                faults.append(f"{path}:{number}: \"{name}\" is a path, not a header's name")
            for header in homes.get(name, []):
                fault = direction_fault(order, path, header)
                if fault:
                    faults.append(f"{path}:{number}: {fault}")
    unknown = {module_of(path) for path in files if path.endswith(".c")} - set(order)
    faults += [f"src/{name}/ is in no static_library of src/meson.build" for name in unknown]
    return faults


# -- (b) EX-3, (c) EX-6

def path_search_faults(files):
    """EX-3: nothing but binding/ looks at PATH or searches it."""
    names = r'"PATH(?:=[^"]*)?"|\b(?:exec[vl]pe?|posix_spawnp|confstr|_PATH_DEFPATH)\b'
    faults = []
    for path, text in files.items():
        if module_of(path) != "binding" and path not in PATH_EXCEPTIONS and \
                not path.endswith("base/banned.h"):
            faults += [f"{path}:{number}: {match[0]} outside src/binding/ (EX-3)"
                       for number, match in lines_with(names, without_comments(text))]
    return faults


# -- FS-8

CHANGE = (r"\bos_(?:mkdirat|unlinkat|renameat|linkat|link_fd|fchmod|ftruncate|fallocate)\b"
          r"|\bO_(?:CREAT|TRUNC|TMPFILE)\b")


def change_faults(files):
    """FS-8: names are made, moved and removed by bfs/ alone, relative to what it holds open."""
    faults = []
    for path, text in files.items():
        if module_of(path) not in ("os", "bfs"):
            faults += [f"{path}:{number}: {match[0]} outside src/bfs/ (FS-8)"
                       for number, match in lines_with(CHANGE, without_comments(text, strings=False))
                       if (path, match[0]) not in CHANGE_EXCEPTIONS]
    return faults


CREATION = (r"\b(?:v?fork|clone3?|posix_spawnp?|exec(?:v|ve|vp|vpe|l|le|lp)|execveat|fexecve"
            r"|system|popen)\s*\(|\bSYS_(?:v?fork|clone3?|execve(?:at)?)\b")
BOUNDARY = r"\bos_(?:clone_child|clone_lent|execveat)\b"


def process_faults(files):
    """EX-6: one process creation boundary: os/ calls the kernel for it, supervise/ calls os/."""
    faults = []
    for path, text in files.items():
        code = without_comments(text, strings=False)
        found = []
        if module_of(path) != "os":
            found += lines_with(CREATION, code)
        if module_of(path) not in ("os", "supervise"):
            found += lines_with(BOUNDARY, code)
        for number, match in found:
            name = match[0].rstrip("( ")
            if (path, name) not in PROCESS_EXCEPTIONS:
                faults.append(f"{path}:{number}: {name} (EX-6)")
    return faults


def symbol_faults(listing):
    """Over lines "SOURCE LETTER SYMBOL" (nm): what objects outside os/ take from outside."""
    rows = [line.split() for line in listing.splitlines()]
    ours = {symbol for _, letter, symbol in rows if letter not in "Uw"}
    faults = []
    for source, letter, symbol in rows:
        if letter not in "Uw" or symbol in ours or source.startswith("os/"):
            continue
        plain = re.sub(r"^__(?:isoc\d+_)?", "", symbol.split("@")[0]).removesuffix("_chk")
        if plain in LIBC or LIBRARIES.fullmatch(plain) or TOOLCHAIN.fullmatch(symbol) or \
                (source, plain) in SYMBOL_EXCEPTIONS:
            continue
        faults.append(f"{source} uses {plain}: only os/ calls the kernel (or, if it is no kernel "
                      "call, add it to LIBC in tests/layering/rules.py)")
    return faults


# -- PT-1: the portable program

POSIX_HEADERS = set("""
    ctype.h dirent.h errno.h fcntl.h inttypes.h limits.h poll.h sched.h signal.h spawn.h stdarg.h stdbool.h stddef.h
    stdint.h stdio.h stdlib.h string.h strings.h sys/mman.h sys/resource.h sys/socket.h sys/stat.h sys/time.h
    sys/types.h sys/uio.h sys/utsname.h sys/wait.h time.h unistd.h jansson.h openssl/sha.h
""".split())
POSIX_CALLS = set("""
    abort clock_gettime close environ exit fstat fstatat fsync getcwd getenv getpgrp getpid isatty open openat poll
    raise read renameat stpcpy strerror sysconf tcgetpgrp uname unlinkat write
    assert_fail bsearch calloc ctype_b_loc ctype_tolower_loc errno_location free libc_current_sigrtmax
    libc_current_sigrtmin libc_start_main malloc memchr memcmp memcpy memmove memset qsort realloc snprintf stack_chk_fail
    strchr strcmp strcspn strlen strncmp strndup strnlen strpbrk strrchr strspn strstr strtod strtol strtoll
    strtoull vsnprintf
""".split())


def posix_header_faults(files):
    """Over {path: text} of what the portable program is made of: only _GNU_SOURCE opens headers of Linux."""
    faults = []
    for path, text in files.items():
        code = re.sub(r"(?ms)^#ifdef _GNU_SOURCE\b.*?^#endif", lambda part: "\n" * part[0].count("\n"), text)
        faults += [f"{path}:{number}: <{match[1]}> is no header of POSIX (PT-1)"
                   for number, match in lines_with(r"^\s*#\s*include\s+<([^>]+)>", code)
                   if match[1] not in POSIX_HEADERS]
    return faults


def posix_symbol_faults(listing):
    """Over lines "SOURCE LETTER SYMBOL" (nm) of the portable program."""
    rows = [line.split() for line in listing.splitlines()]
    ours = {symbol for _, letter, symbol in rows if letter not in "Uw"}
    faults = []
    for source, letter, symbol in rows:
        plain = re.sub(r"^__(?:isoc\d+_)?|^_(?=exit$)", "", symbol.split("@")[0])
        plain = re.sub(r"(?:_chk|64)$", "", plain) if plain != "stack_chk_fail" else plain
        if letter in "Uw" and symbol not in ours and plain not in POSIX_CALLS and \
                not LIBRARIES.fullmatch(plain) and not TOOLCHAIN.fullmatch(symbol):
            faults.append(f"{source} uses {symbol}, which POSIX.1-2008 has not (PT-1)")
    return faults


# -- compile flags

def flag_faults(commands):
    """Over compile_commands.json, files below the tree: every file of ours is compiled with the ban."""
    faults = []
    for entry in commands:
        source = entry["file"]
        if not source.startswith(("src/", "programs/")):
            continue
        if "banned.h" not in entry["command"]:
            faults.append(f"{source} is compiled without banned.h")
        if "-DBERM_OS_LAYER" in entry["command"] and module_of(source) not in ("base", "os"):
            faults.append(f"{source} is compiled as if it were a part of os/")
    return faults


# -- (d) mirror, (f) markers, (g) link

def mirror_faults(paths, proved_by):
    """Each src/X/y.c (lib/X/y.c) is proved by tests/unit/X/test-y.c, and each such test has its y.c or y.h."""
    faults = []
    for path in sorted(paths):
        source = re.fullmatch(r"(?:src|lib)/(\w+)/([\w-]+)\.c", path)
        test = re.fullmatch(r"tests/unit/(\w+)/test-([\w-]+)\.c", path)
        if source:
            own = f"tests/unit/{source[1]}/test-{source[2]}.c"
            if path in proved_by and own in paths:
                faults.append(f"{path} has a test of its own: take it out of PROVED_BY")
            elif proved_by.get(path, own) not in paths:
                faults.append(f"{path} has no {proved_by.get(path, own)}")
        homes = (f"{room}/{test[1]}/{test[2]}.{end}" for room in ("src", "programs", "lib")
                 for end in "ch") if test else ()
        if test and not paths.intersection(homes):
            faults.append(f"{path} mirrors no source")
    return faults + [f"{path} in PROVED_BY is gone" for path in proved_by if path not in paths]


# -- ids

PROMISE = re.compile(r"(?<![\w-])(?:[A-Z]{2}-\d{1,2}|[DIMORSTX]\d{1,2})(?![\w])")


def promise_faults(files, page):
    """Every promise and attack that a test names is explained on the page, and the other way round."""
    explained = set(re.findall(r"(?m)^\| (\S+) \|", page)) - {"id", "---"}
    named = {}
    for path, text in files.items():
        for number, match in lines_with(PROMISE, text):
            named.setdefault(match[0], f"{path}:{number}")
    faults = [f"{place}: docs/promises.md does not say what {name} is"
              for name, place in sorted(named.items()) if name not in explained]
    return faults + [f"docs/promises.md explains {name}, which no test names"
                     for name in sorted(explained - set(named))]


def is_case(name, path, text):
    """Whether the file registers a case of that name, or of one that begins so."""
    if path.endswith(".c"):
        return f"static void {name}(void **state)" in text and len(re.findall(rf"\b{name}\b", text)) > 1
    return re.search(r"@\w+\(f?\"" + re.escape(name), text) is not None


def weakness_faults(tests, page):
    """Every row of the page names tests that are there."""
    faults = []
    for number, line in enumerate(page.splitlines(), 1):
        if not line.startswith("| ") or line.startswith(("| weakness |", "| --- |")):
            continue
        columns = line.strip("| ").split(" | ")
        shown = re.findall(r"([\w/.-]+) `([^`]+)`", columns[-1])
        if len(columns) != 3 or not shown:
            faults.append(f"docs/weaknesses.md:{number}: a weakness, what is done, and tests")
        faults += [f"docs/weaknesses.md:{number}: tests/{path} has no case '{name}'" for path, name in shown
                   if not is_case(name, path, tests.get(f"tests/{path}", ""))]
    return faults


# What the tests alone call, and why it is there all the same.
UNUSED_EXCEPTIONS = {
    "record_document": "writes docs/formats (make schema)",
    "validate_document_report": "the same",
    "validate_document_run": "the same",
    "form_schema": "the same",
    "form_document": "the same",
    "entrypoint_document": "the same",
    "run_request_decode": "for a front end that is not the command line",
    "scope_obstacle_name": "what tests/lib/scope-drive.c alone calls so far",
} | {
    f"watchdog_{name}": "likewise tests/lib/watch-drive.c" for name in """
    directory_fd directory_name""".split()
}


def unused_faults(files, exceptions):
    """Over {path: text} of src/ and programs/: functions of public headers that nobody calls there.

    Every line that begins with a letter declares or defines; a call, a table and a macro do not."""
    declared, used = {}, set()
    for path, text in files.items():
        code = without_comments(text, strings=False)
        if module_of(path) and path.endswith(".h") and not path.endswith("-priv.h"):
            declared |= {match[1]: f"{path}:{number}" for number, match in
                         lines_with(r"^(?!typedef)[A-Za-z_][\w ]*[ *](\w+)\(", code)}
        used.update(match[0] for _, line in lines_with(r"^[\s#].*", code)
                    for match in re.finditer(r"\w+", line[0]))
    faults = [f"{place}: {name}() is called by no program" for name, place in declared.items()
              if name not in used and name not in exceptions]
    return faults + [f"{name} is called or gone: take it out of UNUSED_EXCEPTIONS"
                     for name in exceptions if name in used or name not in declared]


MARKER_EXCEPTIONS = {"tests/host/t/20-launch.sh", "tests/tools/test-tally"}  # TAP's own word
MARKER = r"\b(?:" + "|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX")) + r")\b"


def marker_faults(files):
    return [f"{path}:{number}: {match[0]}: do it, or write down where it is decided"
            for path, text in files.items() if path not in MARKER_EXCEPTIONS
            for number, match in lines_with(MARKER, text)]


def link_faults(needed, symbols):
    """Fork or thread, never both: of a program that starts processes."""
    faults = [f"links {library}" for library in needed if "duckdb" in library]
    return faults + [f"can start threads: {symbol}" for symbol in symbols
                     if re.match(r"(?:pthread_create|thrd_create|duckdb_)", symbol)]
