# libraries.m4 - the libraries that tensorc links.

# TENSORC_LIBRARY(NAME, LIBRARY, FUNCTION, HEADER, PACKAGE): sets NAME_LIBS; both header and library must be there.
AC_DEFUN([TENSORC_LIBRARY],
[AC_CHECK_HEADER([$4], [], [TENSORC_NEED([the header $4], [$5])])
AC_CHECK_LIB([$2], [$3], [AC_SUBST([$1_LIBS], [-l$2])], [TENSORC_NEED([the library $2], [$5])])])

# TENSORC_DNNL: a oneDNN that `make bench` compares with beside the one of the system.
AC_DEFUN([TENSORC_DNNL],
[AC_ARG_WITH([dnnl],
  [AS_HELP_STRING([--with-dnnl=DIR], [a further oneDNN for make bench, in DIR/include and DIR/lib])],
  [AS_IF([test "$withval" != no && test ! -f "$withval/include/dnnl.h"],
     [AC_MSG_ERROR([there is no $withval/include/dnnl.h: --with-dnnl wants the folder where oneDNN is installed])])
   AS_IF([test "$withval" != no], [DNNL_DIR=$withval])])
AC_SUBST([DNNL_DIR])])

# TENSORC_LLVM: llvm-config of the version we prefer, its flags, and that a program of its C API links.
AC_DEFUN([TENSORC_LLVM],
[AC_ARG_WITH([llvm-config],
  [AS_HELP_STRING([--with-llvm-config=PROGRAM], [the llvm-config to use (default: of LLVM 19, else 20, 18, 17, 16)])],
  [LLVM_CONFIG=$withval
   AS_IF([$LLVM_CONFIG --version >/dev/null 2>&1], [], [AC_MSG_ERROR([$LLVM_CONFIG does not run])])],
  [AC_CHECK_PROGS([LLVM_CONFIG],
    [llvm-config-19 llvm-config-20 llvm-config-18 llvm-config-17 llvm-config-16 llvm-config])])
AS_IF([test -z "$LLVM_CONFIG"], [TENSORC_NEED([the LLVM C API], [llvm-19-dev])])
AC_MSG_CHECKING([for LLVM 16 or later])
llvm_version=`$LLVM_CONFIG --version`
AC_MSG_RESULT([$llvm_version])
AS_VERSION_COMPARE([$llvm_version], [16], [TENSORC_NEED([LLVM 16 or later (this one is $llvm_version)], [llvm-19-dev])])
LLVM_CPPFLAGS=-I`$LLVM_CONFIG --includedir`
LLVM_LDFLAGS=`$LLVM_CONFIG --ldflags`
LLVM_LIBS="`$LLVM_CONFIG --libs` `$LLVM_CONFIG --system-libs`"
AC_SUBST([LLVM_CPPFLAGS])
AC_SUBST([LLVM_LDFLAGS])
AC_SUBST([LLVM_LIBS])
AC_DEFINE_UNQUOTED([LLVM_VERSION_TEXT], ["$llvm_version"], [The version of LLVM that tensorc is built against.])
AC_MSG_CHECKING([that its C API links])
TENSORC_WITH_LLVM([AC_LINK_IFELSE(
  [AC_LANG_PROGRAM([[#include <llvm-c/Core.h>]], [[LLVMContextDispose(LLVMContextCreate());]])],
  [AC_MSG_RESULT([yes])],
  [AC_MSG_RESULT([no])
   TENSORC_NEED([the header llvm-c/Core.h or the library of LLVM $llvm_version], [llvm-${llvm_version%%.*}-dev])])])])

# TENSORC_WITH_LLVM(COMMANDS): runs them with LLVM's flags in CPPFLAGS, LDFLAGS, LIBS.
AC_DEFUN([TENSORC_WITH_LLVM],
[llvm_saved_CPPFLAGS=$CPPFLAGS llvm_saved_LDFLAGS=$LDFLAGS llvm_saved_LIBS=$LIBS
CPPFLAGS="$CPPFLAGS $LLVM_CPPFLAGS" LDFLAGS="$LDFLAGS $LLVM_LDFLAGS" LIBS="$LLVM_LIBS $LIBS"
$1
CPPFLAGS=$llvm_saved_CPPFLAGS LDFLAGS=$llvm_saved_LDFLAGS LIBS=$llvm_saved_LIBS])

# TENSORC_LLVM_SWITCHES(SWITCHES): the code generator's switches that tensorc sets for x86. The C API ignores one that
# it does not know without a word, so the proof is that the assembly of a small module differs with it.
AC_DEFUN([TENSORC_LLVM_SWITCHES],
[AS_IF([test "$cross_compiling" = yes],
  [AC_MSG_WARN([cross compiling: the effect of the LLVM switches $1 is not checked])],
  [TENSORC_WITH_LLVM([AC_LINK_IFELSE([AC_LANG_SOURCE([TENSORC_SWITCH_PROGRAM])],
    [mv conftest$EXEEXT conftest-switch$EXEEXT
     ./conftest-switch$EXEEXT > conftest-without.s || AC_MSG_ERROR([LLVM $llvm_version cannot generate code for x86-64])
     for switch in $1; do
       AC_MSG_CHECKING([that LLVM's switch $switch takes effect])
       ./conftest-switch$EXEEXT "$switch" > conftest-with.s 2>/dev/null
       AS_IF([test -s conftest-with.s && ! cmp -s conftest-with.s conftest-without.s],
         [AC_MSG_RESULT([yes])],
         [AC_MSG_RESULT([no])
          AC_MSG_ERROR([LLVM $llvm_version ignores $switch: try another version with --with-llvm-config])])
     done
     rm -f conftest-switch$EXEEXT conftest-with.s conftest-without.s],
    [AC_MSG_ERROR([a program that generates code with LLVM $llvm_version does not link])])])])])

# Prints the assembly of a loop that the scheduler and loop strength reduction both change, under the switches given.
m4_define([TENSORC_SWITCH_PROGRAM], [[
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <stdio.h>
static const char text[] =
"define void @f(ptr %a, ptr %b, ptr %c, i64 %n, i64 %s) {\n"
"entry:\n  br label %loop\n"
"loop:\n  %i = phi i64 [ 0, %entry ], [ %next, %loop ]\n"
"  %j = mul i64 %i, %s\n  %k = mul i64 %i, 24\n"
"  %p = getelementptr float, ptr %a, i64 %j\n  %q = getelementptr float, ptr %b, i64 %k\n"
"  %r = getelementptr float, ptr %c, i64 %i\n"
"  %p1 = getelementptr float, ptr %p, i64 1\n  %q1 = getelementptr float, ptr %q, i64 1\n"
"  %p2 = getelementptr float, ptr %p, i64 2\n  %q2 = getelementptr float, ptr %q, i64 2\n"
"  %x0 = load float, ptr %p\n  %y0 = load float, ptr %q\n  %m0 = fmul float %x0, %y0\n"
"  %x1 = load float, ptr %p1\n  %y1 = load float, ptr %q1\n  %m1 = fmul float %x1, %y1\n"
"  %x2 = load float, ptr %p2\n  %y2 = load float, ptr %q2\n  %m2 = fmul float %x2, %y2\n"
"  %d0 = fdiv float %m0, %y2\n  %d1 = fdiv float %m1, %x0\n"
"  %s0 = fadd float %d0, %d1\n  %s1 = fadd float %s0, %m2\n"
"  store float %s1, ptr %r\n"
"  %next = add i64 %i, 1\n  %more = icmp slt i64 %next, %n\n  br i1 %more, label %loop, label %exit\n"
"exit:\n  ret void\n}\n";
int main(int argc, char **argv) {
    LLVMParseCommandLineOptions(argc, (const char *const *)argv, NULL);
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMContextRef context = LLVMContextCreate();
    LLVMMemoryBufferRef source = LLVMCreateMemoryBufferWithMemoryRange(text, sizeof text - 1, "f", 1), assembly;
    LLVMModuleRef module;
    LLVMTargetRef target;
    char *why;
    const char *triple = "x86_64-unknown-linux-gnu";
    if (LLVMParseIRInContext(context, source, &module, &why) || LLVMGetTargetFromTriple(triple, &target, &why))
        return 1;
    LLVMTargetMachineRef machine = LLVMCreateTargetMachine(target, triple, "x86-64-v3", "", LLVMCodeGenLevelAggressive,
                                                           LLVMRelocPIC, LLVMCodeModelDefault);
    if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, LLVMAssemblyFile, &why, &assembly))
        return 1;
    return fwrite(LLVMGetBufferStart(assembly), 1, LLVMGetBufferSize(assembly), stdout) == 0;
}
]])
