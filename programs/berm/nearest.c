#include "nearest.h"

#include <stdint.h>

enum { LONGEST = 63, LEAST_BEGINNING = 3 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Optimal string alignment, three rows at a time. */
static size_t count_edits(struct span a, struct span b)
{
    size_t rows[3][LONGEST + 1];
    for (size_t j = 0; j <= b.n; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= a.n; i++) {
        size_t *now = rows[i % 3];
        const size_t *before = rows[(i + 2) % 3];
        const size_t *earlier = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            size_t edits = before[j - 1] + (a.p[i - 1] != b.p[j - 1]);
            edits = least(edits, least(before[j], now[j - 1]) + 1);
            bool swapped = i > 1 && j > 1 && a.p[i - 1] == b.p[j - 2] && a.p[i - 2] == b.p[j - 1];
            now[j] = swapped ? least(edits, earlier[j - 2] + 1) : edits;
        }
    }
    return rows[a.n % 3][b.n];
}

static size_t count_dashes(struct span word)
{
    size_t n = 0;
    while (n < word.n && word.p[n] == '-') {
        n++;
    }
    return n;
}

/* "--mem" begins "--memory"; "--m" begins too much to mean anything. */
static bool begins(struct span word, const char *known)
{
    return word.n >= count_dashes(word) + LEAST_BEGINNING && strncmp(known, word.p, word.n) == 0;
}

struct nearest nearest_to(struct span word)
{
    /* One edit in two letters is a slip, one in one could be anything; then one in three. */
    size_t letters = word.n - count_dashes(word);
    return (struct nearest){.word = word, .edits = letters < 3 ? letters : letters / 3 + 1};
}

void nearest_offer(struct nearest *nearest, const char *known)
{
    if (!known || nearest->word.n > LONGEST || strlen(known) > LONGEST) {
        return;
    }
    size_t edits =
        begins(nearest->word, known) ? 0 : count_edits(nearest->word, span_of_string(known));
    if (edits < nearest->edits) {
        nearest->edits = edits;
        nearest->best = known;
    }
}

const char *nearest_found(const struct nearest *nearest)
{
    return nearest->best;
}
