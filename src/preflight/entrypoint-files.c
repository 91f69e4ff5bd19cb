/* The files of a repository as the audit sees them: component by component, so that a link is told from what is
 * not there. */
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "entrypoint.h"
#include "file.h"
#include "process.h"

enum { PIECE_BYTES = 16384 };

static bool is_shared(const struct bfs_facts *facts)
{
    enum bfs_writers writers = bfs_writers_of(facts);
    bool of_other = writers == BFS_WRITERS_FOREIGN && os_geteuid() != 0;
    return of_other || (facts->mode & S_IWOTH);
}

/* An entry that is there: LOOK_LINK, LOOK_OTHER (a folder too) or LOOK_FILE. */
static int look_at_entry(const struct bfs_dir *dir, const char *name, struct bfs_facts *ret_facts,
                         struct entrypoint_look *look, struct err *err)
{
    struct err own = {0};
    if (bfs_stat(dir, name, ret_facts, &own) < 0) {
        look->kind = LOOK_NOTHING;
        if (own.code == ERR_NOT_FOUND) {
            return 0;
        }
        if (err) {
            *err = own;
        }
        return -1;
    }
    look->kind = S_ISLNK(ret_facts->mode)   ? LOOK_LINK
                 : S_ISREG(ret_facts->mode) ? LOOK_FILE
                                            : LOOK_OTHER;
    return 0;
}

/* The first bytes of a file that is larger than text may become. */
static int read_head(const struct bfs_file *file, struct buf *text, struct err *err)
{
    char piece[PIECE_BYTES];
    while (buf_length(text) < text->maximum) {
        size_t room = text->maximum - buf_length(text);
        ssize_t got = os_pread(bfs_file_fd(file), piece, room < sizeof piece ? room : sizeof piece,
                               (off_t)buf_length(text));
        if (got <= 0) {
            return got < 0 ? err_sys(err, (int)got, "read the file")
                           : err_set(err, ERR_CHANGED, "the file shrank while it was read");
        }
        buf_add(text, piece, (size_t)got);
    }
    return 0;
}

/* As much as fits, of the very file that was looked at. */
static int read_text(const struct bfs_dir *dir, const char *name, const struct bfs_facts *facts,
                     struct buf *text, struct err *err)
{
    with_bfs_file file = {0};
    const struct bfs_rule rule = {.maximum_bytes = UINT64_MAX, .allow_links = true};
    if (bfs_file_open(dir, name, &rule, &file, err) < 0) {
        return -1;
    }
    if (!bfs_facts_equal(&file.facts, facts)) {
        return err_set(err, ERR_CHANGED, "'%s/%s' changed while it was looked at", dir->path, name);
    }
    bool whole = (uint64_t)facts->size_bytes <= text->maximum;
    int result = whole ? bfs_file_read(&file, text, err) : read_head(&file, text, err);
    return result < 0 ? err_wrap(err, "look at '%s/%s'", dir->path, name) : 0;
}

static int look(void *context, const char *path, struct buf *text, struct entrypoint_look *ret_look,
                struct err *err)
{
    const struct bfs_dir *root = context;
    with_bfs_dir here = {0};
    char name[NAME_MAX + 1];
    *ret_look = (struct entrypoint_look){0};
    for (;;) {
        const struct bfs_dir *dir = fd_is_open(&here.fd) ? &here : root;
        size_t n = strcspn(path, "/");
        struct bfs_facts facts = {0};
        if (n > NAME_MAX) {
            return 0;
        }
        memcpy(name, path, n);
        name[n] = '\0';
        if (look_at_entry(dir, name, &facts, ret_look, err) < 0) {
            return -1;
        }
        if (path[n] == '\0' && ret_look->kind == LOOK_FILE) {
            ret_look->links = facts.links;
            ret_look->executable = (facts.mode & 0111) != 0;
            ret_look->shared = is_shared(&facts);
            ret_look->size_bytes = facts.size_bytes;
            return text ? read_text(dir, name, &facts, text, err) : 0;
        }
        if (path[n] == '\0' || !S_ISDIR(facts.mode)) {
            ret_look->kind = ret_look->kind == LOOK_FILE ? LOOK_NOTHING : ret_look->kind;
            return 0;
        }
        struct bfs_dir next = {0};
        if (bfs_dir_open_beneath(dir, name, &next, err) < 0) {
            return -1;
        }
        bfs_dir_done(&here);
        here = next;
        path += n + 1;
    }
}

struct entrypoint_files entrypoint_files_of(const struct bfs_dir *root)
{
    return (struct entrypoint_files){.look = look, .context = (void *)(uintptr_t)root};
}
