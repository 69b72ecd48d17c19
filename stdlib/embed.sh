#!/bin/sh
# embed.sh FILE.tensor...: prints the C source of stdlib_files. The text of a file is a string with one literal for each
# line. Then that of stdlib_algorithms.
set -eu
echo '/* Made by stdlib/embed.sh. */'
echo '#include "stdlib/stdlib.h"'
echo
for file; do
    name=$(basename "$file" .tensor)
    echo "static const char text_$name[] ="
    sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/?/\\?/g' -e 's/^/    "/' -e 's/$/\\n"/' "$file"
    echo '    "";'
    echo
done
echo 'const StdlibFile stdlib_files[] = {'
for file; do
    name=$(basename "$file" .tensor)
    echo "    {\"$name\", text_$name, sizeof text_$name - 1},"
done
echo '    {0},'
echo '};'
echo
echo 'const char *const stdlib_algorithms[] = {'
for file; do
    ! grep -q '^ *implements ' "$file" || echo "    \"$(basename "$file" .tensor)\","
done
echo '    NULL,'
echo '};'
