/*
 * Any bytes as a payload of coding 2, and any array coded so and damaged.
 */
#include "tests/fuzz/coding.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	return coding_input(SCD_CODING_RANGE, data, len);
}
