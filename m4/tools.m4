# tools.m4 - the programs that the build and the tests call.

# TENSORC_NEED(WHAT, PACKAGE): the one form of "this is missing, install that".
AC_DEFUN([TENSORC_NEED],
[AC_MSG_ERROR([$1 was not found: install the package $2 (on Debian: apt-get install $2)])])

# TENSORC_FLEX: Flex itself and no other lex, since the scanner is reentrant.
AC_DEFUN([TENSORC_FLEX],
[AC_CHECK_PROGS([FLEX], [flex])
AS_IF([test -z "$FLEX"], [TENSORC_NEED([Flex], [flex])])])

# TENSORC_BISON: 3.8 or later, for the reentrant parser with detailed errors.
AC_DEFUN([TENSORC_BISON],
[AC_CHECK_PROGS([BISON], [bison])
AS_IF([test -z "$BISON"], [TENSORC_NEED([Bison 3.8 or later], [bison])])
AC_MSG_CHECKING([for Bison 3.8 or later])
bison_version=`$BISON --version | $SED -n '1s/^.* \([[0-9]][[0-9.]]*\).*$/\1/p'`
AC_MSG_RESULT([$bison_version])
AS_VERSION_COMPARE([$bison_version], [3.8],
  [TENSORC_NEED([Bison 3.8 or later (this one is $bison_version)], [bison])])])

# TENSORC_OPENMP: the runtime that generated objects with parallel loops link, and the library that has it.
AC_DEFUN([TENSORC_OPENMP],
[AC_MSG_CHECKING([for an OpenMP runtime])
OPENMP_LIBS=
saved_LIBS=$LIBS
for library in -lgomp -lomp; do
  LIBS="$library $saved_LIBS"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([[int omp_get_max_threads(void);]], [[return omp_get_max_threads() < 1;]])],
                 [OPENMP_LIBS=$library; break])
done
LIBS=$saved_LIBS
AC_MSG_RESULT([${OPENMP_LIBS:-none}])
AS_IF([test -z "$OPENMP_LIBS"], [TENSORC_NEED([an OpenMP runtime (libgomp, which comes with gcc)], [gcc])])
AC_SUBST([OPENMP_LIBS])])

# TENSORC_TEST_TOOLS: prove is needed by `make check`; what single tests need besides, they look for and skip without.
AC_DEFUN([TENSORC_TEST_TOOLS],
[AC_CHECK_PROGS([PROVE], [prove])
AS_IF([test -z "$PROVE"], [TENSORC_NEED([prove, which runs the tests], [perl])])])
