/*
 * Threads where a trace goes through nodes: these have none, as the world runs
 * all loops itself. While there are no nodes, the program has what is real.
 */
#include <pthread.h>
#include <stddef.h>

#include "cachesim/world/nodes.h"

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*run)(void *arg), void *arg);
int __real_pthread_join(pthread_t thread, void **result);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*run)(void *arg), void *arg);
int __wrap_pthread_join(pthread_t thread, void **result);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*run)(void *arg), void *arg)
{
	if (!nodes_are_there())
		return __real_pthread_create(thread, attributes, run, arg);
	*thread = pthread_self();
	return 0;
}

int __wrap_pthread_join(pthread_t thread, void **result)
{
	if (!nodes_are_there())
		return __real_pthread_join(thread, result);
	if (result)
		*result = NULL;
	return 0;
}
