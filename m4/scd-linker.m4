# SCD_TEST_LINKER: what the programs that only test are linked with, in
# TEST_LDFLAGS: a linker that is several times as fast as the usual one, if
# there is one. There are some two hundred of them. What is installed is linked
# as the compiler does it. A TEST_LDFLAGS that is given, even an empty one,
# stays.
AC_DEFUN([SCD_TEST_LINKER], [
AC_LANG_PUSH([C])
AS_IF([test "x${TEST_LDFLAGS+set}" != xset], [
	for scd_flag in -fuse-ld=gold -fuse-ld=lld; do
		AC_MSG_CHECKING([whether tests are linked with $scd_flag])
		scd_save_CFLAGS="$CFLAGS"
		scd_save_LDFLAGS="$LDFLAGS"
		CFLAGS="$CFLAGS $SANITIZE_FLAGS"
		# what tests need that not every linker has
		LDFLAGS="$LDFLAGS $HARDEN_LDFLAGS $scd_flag -Wl,--fatal-warnings"
		LDFLAGS="$LDFLAGS -Wl,--wrap=malloc"
		AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <stdlib.h>
void *__wrap_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes) { return bytes ? NULL : &malloc; }]],
			[[return malloc(1) != NULL;]])],
			[AC_MSG_RESULT([yes])
			TEST_LDFLAGS=$scd_flag],
			[AC_MSG_RESULT([no])])
		CFLAGS="$scd_save_CFLAGS"
		LDFLAGS="$scd_save_LDFLAGS"
		AS_IF([test -n "$TEST_LDFLAGS"], [break])
	done
])
AC_LANG_POP([C])
])
