/* tier-drive - what a run at a tier writes down, without a run: the lock, its fence, and a promotion
 *
 *   tier-drive PLACE STATE DIGIT RUN
 *
 * PLACE is the root of the cgroup tree and the folder of claims (mode 1777); the work is 64 times DIGIT, and the run is called
 * RUN. It prints a line for each step that it made: lock, claim, alone, fence, lowered, promoted, released, forgotten; or
 * "error STEP CODE MESSAGE", and exits with 1.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fence.h"
#include "hash.h"
#include "production-lock.h"
#include "promotion.h"

/* Any folder is a cgroup tree here. */
int __wrap_os_cgroup_open(const char *path);
int __wrap_os_cgroup_open(const char *path)
{
    return open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static struct {
    struct production_place place;
    struct production_lock lock;
    struct bfs_dir state;
    char digest[HASH_HEX_SIZE];
    char *run;
} drive;

static int lock(struct err *err)
{
    return production_lock_try(&drive.place, &drive.lock, err);
}

static int claim(struct err *err)
{
    return production_lock_claim(&drive.lock, drive.run, "berm-drive.scope", 0, err);
}

static int alone(struct err *err)
{
    struct production_lock second = {0};
    struct err seen = {0};
    if (production_lock_try(&drive.place, &second, &seen) == 0) {
        production_lock_done(&second);
        return err_set(err, ERR_CORRUPT, "two have the lock");
    }
    return seen.code == ERR_CONFLICT ? 0 : err_set(err, seen.code, "%s", seen.msg);
}

static int fence(struct err *err)
{
    static char text[] = "drive";
    const struct fence one = {drive.digest, FENCE_ACTIVE, NULL, text, text, text, drive.run, text};
    return fence_raise(&drive.state, &one, err);
}

static int lowered(struct err *err)
{
    return fence_lower(&drive.state, drive.digest, drive.run, err);
}

static int promoted(struct err *err)
{
    static const struct promotion_facts all = {
#define X(member, missing) .member = true,
        PROMOTION_FACTS(X)
#undef X
    };
    static char text[] = "drive";
    const struct promotion one = {text,      text, PROMOTION_SMALL, drive.digest, drive.digest,
                                  drive.run, text, drive.digest};
    return promotion_add(&drive.state, &one, &all, err);
}

static int released(struct err *err)
{
    return production_lock_release(&drive.lock, err);
}

static int forgotten(struct err *err)
{
    return production_lock_forget(&drive.place, err);
}

static const struct {
    const char *name;
    int (*make)(struct err *err);
} steps[] = {
#define X(name)                                                                                    \
    {                                                                                              \
#name, name                                                                                \
    }
    X(lock), X(claim), X(alone), X(fence), X(lowered), X(promoted), X(released), X(forgotten),
#undef X
};

int main(int argc, char **argv)
{
    struct err err = {0};
    if (argc != 5) {
        (void)fprintf(stderr, "tier-drive PLACE STATE DIGIT RUN\n");
        return 2;
    }
    drive.place = (struct production_place){argv[1], geteuid(), {argv[1], NULL}};
    drive.run = argv[4];
    memset(drive.digest, argv[3][0], sizeof drive.digest - 1);
    if (bfs_dir_make(AT_FDCWD, argv[2], 0700, BFS_TRUST_OWN, &drive.state, &err) < 0) {
        printf("error state %d %s\n", err.code, err.msg);
        return 1;
    }
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (steps[i].make(&err) < 0) {
            printf("error %s %d %s\n", steps[i].name, err.code, err.msg);
            return 1;
        }
        puts(steps[i].name);
    }
    bfs_dir_done(&drive.state);
    return 0;
}
