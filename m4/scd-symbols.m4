# SCD_VERSION_SCRIPT: whether the linker takes a version script, as those of
# ELF systems do. Where it does not, as on macOS, libscd exports the same names
# without versions (codec/Makefile.inc).
AC_DEFUN([SCD_VERSION_SCRIPT], [
AC_CACHE_CHECK([whether the linker takes a version script],
	[scd_cv_version_script], [
AC_LANG_PUSH([C])
echo 'SCD_TEST { global: scd_test; local: *; };' >conftest.map
scd_save_CFLAGS="$CFLAGS"
scd_save_LDFLAGS="$LDFLAGS"
CFLAGS="$CFLAGS -fPIC"
LDFLAGS="$LDFLAGS -shared -Wl,--version-script=conftest.map"
AC_LINK_IFELSE([AC_LANG_SOURCE([[int scd_test(void);
int scd_test(void) { return 0; }]])],
	[scd_cv_version_script=yes], [scd_cv_version_script=no])
CFLAGS="$scd_save_CFLAGS"
LDFLAGS="$scd_save_LDFLAGS"
rm -f conftest.map
AC_LANG_POP([C])])
AM_CONDITIONAL([VERSION_SCRIPT], [test "x$scd_cv_version_script" = xyes])
])
