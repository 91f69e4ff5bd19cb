#include "date-priv.h"

#include <stddef.h>

/* Takes the literal c (or its lower-case form) off the front. */
static bool take(struct span *text, char c)
{
    if (text->n == 0 || (text->p[0] != c && text->p[0] != (c | 0x20))) {
        return false;
    }
    *text = span_of(text->p + 1, text->n - 1);
    return true;
}

/* Takes exactly `digits` digits off the front; -1 when they are not there. */
static int take_number(struct span *text, size_t digits)
{
    if (text->n < digits) {
        return -1;
    }
    int value = 0;
    for (size_t i = 0; i < digits; i++) {
        if (text->p[i] < '0' || text->p[i] > '9') {
            return -1;
        }
        value = value * 10 + (text->p[i] - '0');
    }
    *text = span_of(text->p + digits, text->n - digits);
    return value;
}

static int days_of(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return month == 2 && leap ? 29 : days[month - 1];
}

static bool take_date(struct span *text)
{
    int year = take_number(text, 4);
    if (year < 0 || !take(text, '-')) {
        return false;
    }
    int month = take_number(text, 2);
    if (month < 1 || month > 12 || !take(text, '-')) {
        return false;
    }
    int day = take_number(text, 2);
    return day >= 1 && day <= days_of(year, month);
}

static bool take_hour_and_minute(struct span *text)
{
    int hour = take_number(text, 2);
    if (hour < 0 || hour > 23 || !take(text, ':')) {
        return false;
    }
    int minute = take_number(text, 2);
    return minute >= 0 && minute <= 59;
}

static bool take_second(struct span *text)
{
    int second = take_number(text, 2);
    if (second < 0 || second > 60) {
        return false;
    }
    if (!take(text, '.')) {
        return true;
    }
    bool any = false;
    while (take_number(text, 1) >= 0) {
        any = true;
    }
    return any;
}

static bool take_zone(struct span *text)
{
    return take(text, 'Z') || ((take(text, '+') || take(text, '-')) && take_hour_and_minute(text));
}

bool date_is_valid(struct span text)
{
    return take_date(&text) && take(&text, 'T') && take_hour_and_minute(&text) &&
           take(&text, ':') && take_second(&text) && take_zone(&text) && text.n == 0;
}
