#include "units.h"

#include "span.h"
#include "text.h"

enum { FRACTION_DIGITS = 3, DIVISOR = 1000, QUOTED = 60 };

/* What one number looks like before its unit is known. */
struct number {
    int64_t whole;
    int64_t thousandths;
    bool fraction; /* was there a point? */
    const char *unit;
};

static size_t count_digits(const char *text)
{
    size_t n = 0;
    while (text[n] >= '0' && text[n] <= '9') {
        n++;
    }
    return n;
}

/* "12", "1.5": digits, at most one point, digits. False when the text does not start so. */
static bool read_number(const char *text, struct number *ret_number)
{
    size_t digits = count_digits(text);
    uint64_t whole = 0;
    if (!text_parse_number(span_of(text, digits), INT64_MAX, &whole)) {
        return false;
    }
    *ret_number = (struct number){.whole = (int64_t)whole, .unit = text + digits};
    if (text[digits] != '.') {
        return true;
    }
    const char *rest = text + digits + 1;
    digits = count_digits(rest);
    if (digits == 0 || digits > FRACTION_DIGITS) {
        return false;
    }
    for (size_t i = 0; i < FRACTION_DIGITS; i++) {
        ret_number->thousandths =
            ret_number->thousandths * 10 + (i < digits ? (int64_t)(rest[i] - '0') : 0);
    }
    ret_number->fraction = true;
    ret_number->unit = rest + digits;
    return true;
}

/* number × scale; what does not come out even is cut. False when it does not fit. */
static bool multiply(const struct number *number, int64_t scale, int64_t *ret_value)
{
    int64_t whole;
    int64_t part;
    return !__builtin_mul_overflow(number->whole, scale, &whole) &&
           !__builtin_mul_overflow(number->thousandths, scale, &part) &&
           !__builtin_add_overflow(whole, part / DIVISOR, ret_value);
}

static char upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static bool same_letters(const char *text, const char *letters)
{
    size_t i = 0;
    while (text[i] != '\0' && upper(text[i]) == letters[i]) {
        i++;
    }
    return text[i] == '\0' && letters[i] == '\0';
}

static const char size_letters[] = "KMGTP";

/* The scale of a size's unit; 0 when it is none. */
static int64_t size_scale(const char *unit)
{
    if (unit[0] == '\0' || same_letters(unit, "B")) {
        return 1;
    }
    for (int i = 0; size_letters[i] != '\0'; i++) {
        if (upper(unit[0]) == size_letters[i]) {
            bool known =
                unit[1] == '\0' || same_letters(unit + 1, "I") || same_letters(unit + 1, "IB");
            return known ? INT64_C(1) << (10 * (i + 1)) : 0;
        }
    }
    return 0;
}

/* "GB", "MB": a power of ten to one half of the world. */
static bool is_ambiguous(const char *unit)
{
    return unit[0] != '\0' && upper(unit[0]) != 'B' && size_scale((char[]){unit[0], '\0'}) != 0 &&
           same_letters(unit + 1, "B");
}

int units_parse_size(const char *text, int64_t *ret_bytes, struct err *err)
{
    struct number number;
    bool is_number = read_number(text, &number);
    if (is_number && is_ambiguous(number.unit)) {
        char letter = upper(number.unit[0]);
        return err_set(err, ERR_USAGE, "'%.*s' is ambiguous; write %c or %ciB (1024-based)", QUOTED,
                       text, letter, letter);
    }
    int64_t scale = is_number ? size_scale(number.unit) : 0;
    if (scale == 0 || (number.fraction && scale == 1)) {
        return err_set(err, ERR_USAGE, "'%.*s' is no size; write 2G, 512M, 64K or bytes", QUOTED,
                       text);
    }
    int64_t bytes;
    if (!multiply(&number, scale, &bytes)) {
        return err_set(err, ERR_RANGE, "'%.*s' is too large", QUOTED, text);
    }
    *ret_bytes = bytes;
    return 0;
}

static const struct {
    const char *name;
    int64_t ms;
} duration_units[] = {{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};

static int64_t duration_scale(const char *unit)
{
    for (size_t i = 0; i < countof(duration_units); i++) {
        if (strcmp(unit, duration_units[i].name) == 0) {
            return duration_units[i].ms;
        }
    }
    return 0;
}

int units_parse_duration(const char *text, int64_t *ret_ms, struct err *err)
{
    struct number number;
    bool is_number = read_number(text, &number);
    if (is_number && number.unit[0] == '\0') {
        return err_set(err, ERR_USAGE, "'%.*s' has no unit; write %.*ss, %.*sms, %.*sm or %.*sh",
                       QUOTED, text, QUOTED, text, QUOTED, text, QUOTED, text, QUOTED, text);
    }
    int64_t scale = is_number ? duration_scale(number.unit) : 0;
    if (scale == 0) {
        return err_set(err, ERR_USAGE, "'%.*s' is no duration; write 500ms, 30s, 2m, 1h or 1d",
                       QUOTED, text);
    }
    int64_t ms;
    if (!multiply(&number, scale, &ms)) {
        return err_set(err, ERR_RANGE, "'%.*s' is too long", QUOTED, text);
    }
    *ret_ms = ms;
    return 0;
}

int units_parse_count(const char *text, int64_t *ret_count, struct err *err)
{
    size_t digits = count_digits(text);
    uint64_t count = 0;
    if (digits == 0 || text[digits] != '\0') {
        return err_set(err, ERR_USAGE, "'%.*s' is no whole number", QUOTED, text);
    }
    if (!text_parse_number(span_of(text, digits), INT64_MAX, &count)) {
        return err_set(err, ERR_RANGE, "'%.*s' is too large", QUOTED, text);
    }
    *ret_count = (int64_t)count;
    return 0;
}

static const char *const byte_units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

/* The largest unit in which bytes is at least one. */
static int byte_unit(int64_t bytes)
{
    int unit = 0;
    while (bytes >= 1024 && unit + 1 < (int)countof(byte_units)) {
        bytes >>= 10;
        unit++;
    }
    return unit;
}

/* bytes in the unit, rounded to one decimal. Integers: no allocation, no locale. */
static void add_in_unit(struct buf *out, int64_t bytes, int unit)
{
    if (unit == 0) {
        buf_add_format(out, "%lld", (long long)bytes);
        return;
    }
    int64_t one = INT64_C(1) << (10 * unit);
    int64_t tenths = bytes / one * 10 + (bytes % one / 2 * 10 + one / 4) / (one / 2);
    buf_add_format(out, "%lld.%lld", (long long)(tenths / 10), (long long)(tenths % 10));
}

void units_add_bytes(struct buf *out, int64_t bytes)
{
    int unit = byte_unit(bytes);
    add_in_unit(out, bytes, unit);
    buf_add_format(out, " %s", byte_units[unit]);
}

void units_add_bytes_of(struct buf *out, int64_t bytes, int64_t limit_bytes)
{
    if (limit_bytes <= 0) {
        units_add_bytes(out, bytes);
        return;
    }
    int unit = byte_unit(limit_bytes);
    bool hidden = unit > 0 && bytes < (INT64_C(1) << (10 * unit)) / 10;
    if (hidden) {
        units_add_bytes(out, bytes);
    } else {
        add_in_unit(out, bytes, unit);
    }
    buf_add_char(out, '/');
    units_add_bytes(out, limit_bytes);
}

void units_add_ns(struct buf *out, int64_t ns)
{
    const int64_t hundredth = 10000000;
    const int64_t tenth_of_ms = 100000;
    if (ns < 10 * hundredth - tenth_of_ms / 2) { /* what rounds to less than 100.0 ms */
        int64_t tenths = ns / tenth_of_ms + (ns % tenth_of_ms >= tenth_of_ms / 2 ? 1 : 0);
        buf_add_format(out, "%lld.%lld ms", (long long)(tenths / 10), (long long)(tenths % 10));
        return;
    }
    int64_t rounded = ns / hundredth + (ns % hundredth >= hundredth / 2 ? 1 : 0);
    long long seconds = (long long)(rounded / 100);
    if (seconds < 100) {
        buf_add_format(out, "%lld.%02lld s", seconds, (long long)(rounded % 100));
    } else if (seconds < 3600) {
        buf_add_format(out, "%lld min %02lld s", seconds / 60, seconds % 60);
    } else {
        buf_add_format(out, "%lld h %02lld min", seconds / 3600, seconds / 60 % 60);
    }
}

void units_add_seconds(struct buf *out, int64_t ns)
{
    const int64_t tenth = 100000000;
    if (ns < 1000 * tenth - tenth / 20) { /* what rounds to less than 100.00 s */
        units_add_ns(out, ns);
        return;
    }
    int64_t tenths = ns / tenth + (ns % tenth >= tenth / 2 ? 1 : 0);
    buf_add_format(out, "%lld.%lld s", (long long)(tenths / 10), (long long)(tenths % 10));
}

void units_add_exact_size(struct buf *out, int64_t bytes)
{
    int unit = 0;
    while (bytes > 0 && bytes % 1024 == 0 && size_letters[unit] != '\0') {
        bytes /= 1024;
        unit++;
    }
    buf_add_format(out, "%lld", (long long)bytes);
    if (unit > 0) {
        buf_add_char(out, size_letters[unit - 1]);
    }
}

void units_add_exact_duration(struct buf *out, int64_t ms)
{
    size_t i = 0;
    while (i + 1 < countof(duration_units) && (ms == 0 || ms % duration_units[i].ms != 0)) {
        i++;
    }
    buf_add_format(out, "%lld%s", (long long)(ms / duration_units[i].ms), duration_units[i].name);
}
