#!/bin/sh
# document.sh FILE.tensor...: prints OPERATORS.md, the operators of the files with their signatures and comments.
#
# A file must have this form. Its first line, `# NAME.tensor - ...`, begins the comment of the file. `# --- TITLE ---`
# begins a section, and the comment right below belongs to it. A def, combiner or instr begins a line, and the comment
# right above belongs to it. Its header ends with the first `{`. It is an error if it has no comment.
set -eu
awk '
# Text as Markdown: escapes what would be emphasis, a link or a tag there, except between backquotes.
function plain(text,   parts, count, i, result) {
    count = split(text, parts, "`")
    for (i = 1; i <= count; i++) {
        if (i % 2)
            gsub(/[\\*<]|\[|\]/, "\\\\&", parts[i])
        result = result (i > 1 ? "`" : "") parts[i]
    }
    return result
}
# Adds a line to what is printed below the contents.
function put(line) { body = body line "\n" }
function paragraph(text) { put(""); put(plain(text)) }
# The anchor of a heading. The second one of two equal headings gets a number.
function anchor(name,   seen) {
    seen = headings[name]++
    return seen ? name "-" seen : name
}
function begin_file() {
    file = $2
    sub(/^# [^ ]* - /, "")
    comment = toupper(substr($0, 1, 1)) substr($0, 2)
    put(""); put("## " file)
    contents = contents (contents == "" ? "" : "\n\n") "`" file "`\n\n"
    place = "file"
    listed = 0
}
function begin_section() {
    title = $0
    gsub(/^# --- | *-+$/, "", title)
    put(""); put("### " title)
    contents = contents (listed ? "\n" : "") "- " title ":"
    comment = ""
    place = "section"
}
# The end of a comment that belongs to the file or to a section.
function end_comment() {
    if (comment != "" && (place == "file" || place == "section"))
        paragraph(comment)
    if (place == "section")
        place = ""
    comment = ""
}
function begin_operator(   name) {
    name = $2
    sub(/[[(].*/, "", name)
    if (comment == "") {
        print FILENAME ":" FNR ": " $1 " " name " has no comment" > "/dev/stderr"
        failed = 1
    }
    contents = contents " [" name "](#" anchor(name) ")"
    listed = 1
    put(""); put("#### " name)
    put(""); put("```")
    header = 1
}
header == 0 && FNR == 1 { begin_file(); next }
/^# ---/ { begin_section(); next }
/^#/ { sub(/^# ?/, ""); comment = comment (comment == "" ? "" : "\n") $0; next }
/^(def|combiner|instr) / { begin_operator() }
header {
    ends = index($0, "{")
    line = ends ? substr($0, 1, ends - 1) : $0
    sub(/ *$/, "", line)
    put(line)
    if (ends) {
        put("```")
        paragraph(comment)
        comment = ""
        header = 0
    }
    next
}
{ end_comment() }
END {
    print "<!-- Made by stdlib/document.sh; tests/build/operators.t with ACCEPT=1 writes it anew. -->"
    print "# The operators of the library\n"
    print "`import \"nn\"` and `import \"instr\"` bring them: they are part of the compiler. Headers are as in"
    print "[the reference](../lang/REFERENCE.md#4-defs): arguments with types and sizes, then the results."
    printf "\n%s\n%s", contents, body
    exit failed
}
' "$@"
