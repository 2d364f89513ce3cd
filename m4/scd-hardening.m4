# SCD_HARDENING: flags that make memory errors harder to exploit, each where the
# compiler and the linker know it, in HARDEN_CFLAGS and HARDEN_LDFLAGS. Builds
# with a sanitizer go without: it finds the same errors, and more.
AC_DEFUN([SCD_HARDENING], [
AC_LANG_PUSH([C])
HARDEN_CFLAGS=
HARDEN_LDFLAGS=
AS_IF([test "x$with_sanitizer" != xno], [enable_hardening=no])
AS_IF([test "x$enable_hardening" != xno], [
	# -fcf-protection is x86's, -mbranch-protection is ARM's
	for scd_flag in -fstack-protector-strong -fstack-clash-protection \
			-fcf-protection -mbranch-protection=standard; do
		SCD_HARDEN_TRY([$scd_flag], [])
	done
	for scd_flag in -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack; do
		SCD_HARDEN_TRY([], [$scd_flag])
	done
	SCD_HARDEN_PIE
	SCD_HARDEN_FORTIFY
])
AC_SUBST([HARDEN_CFLAGS])
AC_SUBST([HARDEN_LDFLAGS])
AC_LANG_POP([C])
])

# SCD_HARDEN_TRY(CFLAGS, LDFLAGS): adds them if a program links with them and
# nothing warns.
AC_DEFUN([SCD_HARDEN_TRY], [
AC_MSG_CHECKING([whether $CC takes m4_normalize([$1 $2])])
scd_save_CFLAGS="$CFLAGS"
scd_save_LDFLAGS="$LDFLAGS"
CFLAGS="$CFLAGS -Werror $1"
LDFLAGS="$LDFLAGS $2"
AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <string.h>]],
	[[char text[64]; strcpy(text, "text"); return text[0] == 'x';]])],
	[AC_MSG_RESULT([yes])
	HARDEN_CFLAGS="$HARDEN_CFLAGS $1"
	HARDEN_LDFLAGS="$HARDEN_LDFLAGS $2"],
	[AC_MSG_RESULT([no])])
CFLAGS="$scd_save_CFLAGS"
LDFLAGS="$scd_save_LDFLAGS"
])

# SCD_HARDEN_PIE: programs that can be loaded anywhere, which Debian's compilers
# make anyway. Libtool leaves -pie out where it links a library, and puts -fPIC
# behind -fPIE.
AC_DEFUN([SCD_HARDEN_PIE], [
AC_MSG_CHECKING([whether $CC makes programs that can be loaded anywhere])
AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
#ifndef __PIE__
#error "no"
#endif
]], [])], [AC_MSG_RESULT([yes])],
	[AC_MSG_RESULT([no])
	SCD_HARDEN_TRY([-fPIE], [-pie])])
])

# SCD_HARDEN_FORTIFY: the C library's checks of lengths; level 3 where it is
# known. They need optimisation. A level in CPPFLAGS or CFLAGS, or of the
# compiler's own, stays.
AC_DEFUN([SCD_HARDEN_FORTIFY], [
AC_MSG_CHECKING([whether to define _FORTIFY_SOURCE])
AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[
#if defined _FORTIFY_SOURCE || !defined __OPTIMIZE__
#error "as it is"
#endif
]], [])], [AC_MSG_RESULT([yes])
	scd_before="$HARDEN_CFLAGS"
	SCD_HARDEN_TRY([-D_FORTIFY_SOURCE=3], [])
	AS_IF([test "x$HARDEN_CFLAGS" = "x$scd_before"],
		[SCD_HARDEN_TRY([-D_FORTIFY_SOURCE=2], [])])],
	[AC_MSG_RESULT([no])])
])
