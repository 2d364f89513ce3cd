/*
 * Which instructions this processor has: asked when an engine is chosen, once
 * for a whole array. The flags of the compiler that the engines are built
 * with (TARGET in each of them) name the same sets.
 */
#ifndef SCD_CPU_H
#define SCD_CPU_H

#include <stdbool.h>

#if defined(__x86_64__) && defined(__GNUC__)

/* BMI2, for extracting and depositing bits by a mask, and a bit count. */
static inline bool scd__cpu_has_bmi2(void)
{
	return __builtin_cpu_supports("bmi2") &&
	       __builtin_cpu_supports("popcnt");
}

static inline bool scd__cpu_has_avx2(void)
{
	return __builtin_cpu_supports("avx2") && scd__cpu_has_bmi2();
}

/* Expanding and compressing bytes and words too: Ice Lake, Zen 4 and later. */
static inline bool scd__cpu_has_avx512(void)
{
	return __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("avx512dq") &&
	       __builtin_cpu_supports("avx512vbmi") &&
	       __builtin_cpu_supports("avx512vbmi2") && scd__cpu_has_bmi2();
}

#endif

#endif
