#include "text.h"

#include <string.h>

/* One decoded step: the length of a valid sequence and its code point, or length 0 for a bad byte. */
struct step {
    size_t length;
    uint32_t point;
};

static bool is_tail(unsigned char byte)
{
    return (byte & 0xC0) == 0x80;
}

static struct step decode(const unsigned char *p, size_t n)
{
    unsigned char first = p[0];
    if (first < 0x80) {
        return (struct step){1, first};
    }
    size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
    if (first < 0xC2 || first > 0xF4 || length > n) {
        return (struct step){0};
    }
    uint32_t point = first & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        if (!is_tail(p[i])) {
            return (struct step){0};
        }
        point = point << 6 | (p[i] & 0x3Fu);
    }
    static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
    if (point < lowest[length] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) {
        return (struct step){0};
    }
    return (struct step){length, point};
}

/* Code points that show nothing themselves or change how their neighbours are shown. */
static const struct {
    uint32_t first;
    uint32_t last;
} hidden[] = {
    {0x00, 0x1F},       {0x7F, 0x9F},       {0xAD, 0xAD},       {0x061C, 0x061C},
    {0x0600, 0x0605},   {0x06DD, 0x06DD},   {0x070F, 0x070F},   {0x0890, 0x0891},
    {0x08E2, 0x08E2},   {0x115F, 0x1160},   {0x17B4, 0x17B5},   {0x180B, 0x180F},
    {0x200B, 0x200F},   {0x2028, 0x202E},   {0x2060, 0x206F},   {0x3164, 0x3164},
    {0xFDD0, 0xFDEF},   {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},   {0xFFA0, 0xFFA0},
    {0xFFF0, 0xFFFB},   {0xFFFE, 0xFFFF},   {0x110BD, 0x110BD}, {0x110CD, 0x110CD},
    {0x13430, 0x1343F}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},
};

static bool is_hidden(uint32_t point)
{
    if ((point & 0xFFFE) == 0xFFFE) {
        return true;
    }
    for (size_t i = 0; i < countof(hidden); i++) {
        if (point >= hidden[i].first && point <= hidden[i].last) {
            return true;
        }
    }
    return false;
}

static void add_escape(struct buf *out, uint32_t point)
{
    switch (point) {
    case '\n':
        buf_add_string(out, "\\n");
        return;
    case '\r':
        buf_add_string(out, "\\r");
        return;
    case '\t':
        buf_add_string(out, "\\t");
        return;
    default:
        break;
    }
    if (point < 0x80) {
        buf_add_format(out, "\\x%02x", point);
    } else if (point <= 0xFFFF) {
        buf_add_format(out, "\\u%04x", point);
    } else {
        buf_add_format(out, "\\U%08x", point);
    }
}

void text_neutralise(struct buf *out, struct span in)
{
    const unsigned char *p = (const unsigned char *)in.p;
    for (size_t i = 0; i < in.n;) {
        struct step step = decode(p + i, in.n - i);
        if (step.length == 0) {
            buf_add_format(out, "\\x%02x", p[i]);
            i++;
        } else if (is_hidden(step.point)) {
            add_escape(out, step.point);
            i += step.length;
        } else {
            buf_add(out, p + i, step.length);
            i += step.length;
        }
    }
}

bool text_is_utf8(struct span in)
{
    const unsigned char *p = (const unsigned char *)in.p;
    for (size_t i = 0; i < in.n;) {
        struct step step = decode(p + i, in.n - i);
        if (step.length == 0) {
            return false;
        }
        i += step.length;
    }
    return true;
}

void text_to_utf8(struct buf *out, struct span in)
{
    const unsigned char *p = (const unsigned char *)in.p;
    size_t start = 0; /* of what is valid and not passed on yet */
    for (size_t i = 0; i < in.n;) {
        struct step step = decode(p + i, in.n - i);
        if (step.length == 0) {
            buf_add(out, p + start, i - start);
            buf_add(out, "\xEF\xBF\xBD", 3);
            start = i + 1;
        }
        i += step.length ? step.length : 1;
    }
    buf_add(out, p + start, in.n - start);
}

bool text_parse_number(struct span in, uint64_t maximum, uint64_t *ret_value)
{
    if (in.n == 0) {
        return false;
    }
    uint64_t value = 0;
    for (size_t i = 0; i < in.n; i++) {
        if (in.p[i] < '0' || in.p[i] > '9') {
            return false;
        }
        if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(in.p[i] - '0'), &value)) {
            return false;
        }
    }
    if (value > maximum) {
        return false;
    }
    *ret_value = value;
    return true;
}

const char *text_variable(char *const *environment, const char *name)
{
    size_t n = strlen(name);
    for (; environment && *environment; environment++) {
        if (strncmp(*environment, name, n) == 0 && (*environment)[n] == '=') {
            return *environment + n + 1;
        }
    }
    return NULL;
}
