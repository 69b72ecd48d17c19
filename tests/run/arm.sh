# shellcheck shell=sh
# arm.sh - a test's program on ARM, where an emulator is.

# on_arm NAME: NAME.tensor and NAME.c of $here, compiled, linked and run: three tests.
on_arm() {
    ARMCC=aarch64-linux-gnu-gcc
    if have qemu-aarch64 && have $ARMCC; then
        runs "for ARM" "$TENSORC" --target=aarch64 -c "$here/$1.tensor" -o "$1.o" --header "$1.h"
        ok "links for ARM" $ARMCC -static -std=c11 -I. "$here/$1.c" "$1.o" -o application -lm -lpthread
        runs "runs on ARM" qemu-aarch64 ./application || diag_file out
    else
        skip "no emulator of ARM here" 3
    fi
}
