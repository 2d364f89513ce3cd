/*
 * What a member of struct config is, by the kind of its option: option_NUMBER
 * and so on. Strings are allocated, and null where there is neither a value nor
 * a default.
 */
#ifndef DIGESTD_OPTIONS_OPTION_TYPES_H
#define DIGESTD_OPTIONS_OPTION_TYPES_H

#include <stdbool.h>
#include <stdint.h>

enum { OPTION_THREADS_MAX = 256 };

#define OPTION_STRING char *
#define OPTION_INTEGER int64_t
#define OPTION_REAL double
#define OPTION_BOOLEAN bool
#define OPTION_KIND(kind, type, word) typedef OPTION_##type option_##kind;
#include "digestd/options/option_kinds.def"
#undef OPTION_KIND
#undef OPTION_STRING
#undef OPTION_INTEGER
#undef OPTION_REAL
#undef OPTION_BOOLEAN

#endif
