# SCD_MODULES: whether the headers are there that modules of other servers are
# built with, and where such modules go. What a sanitizer has instrumented
# cannot be loaded by a server that it has not, so those builds leave them out.
AC_DEFUN([SCD_MODULES], [
AC_ARG_WITH([nginx-source],
	[AS_HELP_STRING([--with-nginx-source=DIR],
		[the sources of nginx that its module is built with, as the
		package nginx-dev has them; "no" leaves the module out
		@<:@/usr/share/nginx/src@:>@])],
	[], [with_nginx_source=check])
AC_ARG_WITH([nginxmoduledir],
	[AS_HELP_STRING([--with-nginxmoduledir=DIR],
		[where to install the module of nginx
		@<:@PREFIX/lib/nginx/modules@:>@])],
	[], [with_nginxmoduledir='${prefix}/lib/nginx/modules'])
AC_ARG_WITH([vmod],
	[AS_HELP_STRING([--without-vmod],
		[leave out the module of Varnish, which needs the package
		libvarnishapi-dev])],
	[], [with_vmod=check])
AC_ARG_WITH([vmoddir],
	[AS_HELP_STRING([--with-vmoddir=DIR],
		[where to install the module of Varnish
		@<:@LIBDIR/varnish/vmods@:>@])],
	[], [with_vmoddir='${libdir}/varnish/vmods'])
AC_PATH_PROG([BASH], [bash])

scd_modules=yes
AS_IF([test "x$with_sanitizer" != xno || test "x$enable_shared" = xno],
	[scd_modules=no])

NGINX_SOURCE=$with_nginx_source
AS_CASE([$with_nginx_source],
	[check|yes], [NGINX_SOURCE=/usr/share/nginx/src],
	[no], [NGINX_SOURCE=])
AC_MSG_CHECKING([for the sources of nginx])
AS_IF([test "$scd_modules" = yes && test -n "$BASH" &&
	test -n "$NGINX_SOURCE" && test -r "$NGINX_SOURCE/conf_flags" &&
	test -r "$NGINX_SOURCE/src/core/nginx.h"],
	[scd_nginx=yes], [scd_nginx=no])
AC_MSG_RESULT([$scd_nginx])
AS_CASE([$with_nginx_source:$scd_nginx],
	[check:yes|no:*|*:yes], [],
	[check:no], [AC_MSG_NOTICE([the module of nginx is not built: it needs the package nginx-dev, and a build without sanitizers])],
	[AC_MSG_ERROR([no sources of nginx with conf_flags in $NGINX_SOURCE])])
AC_SUBST([NGINX_SOURCE])
AC_SUBST([nginxmoduledir], [$with_nginxmoduledir])
AM_CONDITIONAL([NGINX_MODULE], [test $scd_nginx = yes])

scd_vmod=no
AS_IF([test "$scd_modules" = yes && test "x$with_vmod" != xno &&
	test -n "$PYTHON"], [
	PKG_CHECK_MODULES([VARNISH], [varnishapi >= 7.1], [
		VMODTOOL=`$PKG_CONFIG --variable=vmodtool varnishapi`
		AS_IF([test -r "$VMODTOOL"], [scd_vmod=yes])], [:])])
AS_CASE([$with_vmod:$scd_vmod],
	[no:*|*:yes], [],
	[check:no], [AC_MSG_NOTICE([the module of Varnish is not built: it needs the package libvarnishapi-dev, and a build without sanitizers])],
	[AC_MSG_ERROR([no headers of Varnish, or no vmodtool.py])])
VARNISH_SYSTEM_CFLAGS=`AS_ECHO(["$VARNISH_CFLAGS"]) | $SED 's/-I/-isystem /g'`
AC_SUBST([VARNISH_SYSTEM_CFLAGS])
AC_SUBST([VMODTOOL])
AC_SUBST([varnishmoduledir], [$with_vmoddir])
AM_CONDITIONAL([VARNISH_MODULE], [test $scd_vmod = yes])
])
