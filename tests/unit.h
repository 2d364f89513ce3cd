/*
 * What every unit test includes: cmocka, and the headers that it needs.
 */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define NROWS(table) (sizeof(table) / sizeof((table)[0]))

#endif
