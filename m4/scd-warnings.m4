# SCD_WARNINGS: the warnings that the code is kept free of, where the compiler
# knows them, in WARN_CFLAGS.
AC_DEFUN([SCD_WARNINGS], [
AC_LANG_PUSH([C])
WARN_CFLAGS=
scd_save_CFLAGS="$CFLAGS"
for scd_flag in -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion \
		-Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
		-Wwrite-strings -Wvla -Wundef -Wformat=2; do
	AC_MSG_CHECKING([whether $CC takes $scd_flag])
	CFLAGS="$scd_save_CFLAGS -Werror $scd_flag"
	AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])],
		[AC_MSG_RESULT([yes]); WARN_CFLAGS="$WARN_CFLAGS $scd_flag"],
		[AC_MSG_RESULT([no])])
done
CFLAGS="$scd_save_CFLAGS"
AS_IF([test "x$enable_werror" = xyes], [WARN_CFLAGS="$WARN_CFLAGS -Werror"])
AC_SUBST([WARN_CFLAGS])
AC_LANG_POP([C])
])

# SCD_SANITIZER: --with-sanitizer=LIST goes to compiler and linker alike.
AC_DEFUN([SCD_SANITIZER], [
AS_IF([test "x$with_sanitizer" != xno && test "x$with_sanitizer" != xyes], [
	SANITIZE_FLAGS="-fsanitize=$with_sanitizer -fno-omit-frame-pointer"
	AS_CASE([",$with_sanitizer,"], [*,undefined,*],
		[SANITIZE_FLAGS="$SANITIZE_FLAGS -fno-sanitize-recover=undefined"])
	scd_save_CFLAGS="$CFLAGS"
	CFLAGS="$CFLAGS $SANITIZE_FLAGS"
	AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])], [],
		[AC_MSG_ERROR([$CC cannot link with -fsanitize=$with_sanitizer])])
	CFLAGS="$scd_save_CFLAGS"
])
AC_SUBST([SANITIZE_FLAGS])
])
