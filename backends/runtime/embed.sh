#!/bin/sh
# embed.sh FILE.ll: prints the C source of a string with the lines of the file, less their comments.
set -eu
echo '/* Made by backends/runtime/embed.sh. */'
echo '#include "backends/runtime/runtime.h"'
echo
echo "const char $(basename "$1" .ll)_text[] ="
sed -e 's/ *;.*//' -e '/^$/d' -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/^/    "/' -e 's/$/\\n"/' "$1"
echo '    ;'
