#!/bin/sh
# bytes.t - hostile bytes from everywhere: none reaches a terminal as it is, and JSON stays one valid document.
. "${srcdir:-.}/tests/lib.sh"
mkdir "$work/in"
cd "$work/in" || exit 1
perl -MJSON::PP -e 1 2>/dev/null || skip_all "no JSON::PP of perl here"

# check.pl COUNTS: what was said as text is UTF-8 that a terminal shows as text; what was said as JSON is one array of
# at least COUNT elements that have all that an element has.
cat >check.pl <<'EOF'
use JSON::PP;
use Encode;
sub shown {
    my ($name, $bytes) = @_;
    my $text = eval { decode('UTF-8', $bytes, Encode::FB_CROAK) };
    defined $text or return "$name: not UTF-8; ";
    $text =~ /([^\P{Cc}\n\t]|\p{Cf}|\x{2028}|\x{2029})/ ? sprintf("$name: U+%04X; ", ord $1) : "";
}
sub json {
    my ($name, $text, $count) = @_;
    my $array = eval { JSON::PP->new->utf8->decode($text) };
    ref $array eq 'ARRAY' or return "$name: no array; ";
    @$array >= $count or return "$name: " . scalar(@$array) . " elements; ";
    for my $e (@$array) {
        for (qw(file line column endLine endColumn severity id message notes hints)) {
            exists $e->{$_} or return "$name: no $_; " }
        $e->{severity} =~ /^(error|warning|note)$/ or return "$name: severity $e->{severity}; ";
    }
    "";
}
sub slurp { local $/; open(my $in, '<:raw', $_[0]) or die $_[0]; scalar(<$in>) // '' }
open(my $list, '<', $ARGV[0]) or die;
while (<$list>) {
    my ($number, $count, $one, $two, $name) = /^(\d+) (\d+) (\d+) (\d+) (.*)/;
    print shown($name, slurp("$number.text") . slurp("$number.json") . slurp("$number.out")),
        json($name, slurp("$number.json"), $count);
    print "$name: status $one, $two; " if $one > 2 || $two > 2;
}
EOF

# told NAME COUNT ARGUMENTS...: what tensorc says, as text and as JSON of at least COUNT elements; it never ends by a
# signal.
said=0
told() {
    name=$1 count=$2 said=$((said + 1)); shift 2
    "$TENSORC" "$@" >$said.out 2>$said.text </dev/null
    status=$?
    "$TENSORC" -fdiagnostics-format=json "$@" >>$said.out 2>$said.json </dev/null
    echo "$said $count $status $? $name" >>list
}
# all_told NAME: of all since the last time.
all_told() {
    is "$(perl check.pl list)" "" "$1"
    : >list
}

good='def f(float(N) a) -> (b) { b(i) = a(i) }'
echo "$good" >good.tensor
# Commands of terminals, C1, surrogates, longer than need be, beyond the last, cut short, text that turns around, marks.
number=0
for bytes in '\033[31m' '\007\177' '\302\233' '\355\240\200\355\260\200' '\300\257' '\360\200\200\257' \
    '\364\220\200\200' \
    '\377\376' '\342\202' '\342\200\256' '\342\200\250' '\357\273\277' \
    '\363\240\200\201' 'plain \303\251 \342\202\254 \360\237\230\200'; do
    number=$((number + 1))
    x=$(printf "$bytes.")
    mkdir "$number"
    printf "$good $bytes\n" >"$number/code.tensor"
    printf "$good # $bytes\ndef g(float(N) a) -> (b) { b(i) = q(i) } # $bytes\n" >"$number/comment.tensor"
    printf "$good\nschedule f on \"$bytes\" { }\n" >"$number/on.tensor"
    printf "import \"$bytes\"\n$good\n" >"$number/import.tensor"
    printf "import \"$bytes\n$good\n" >"$number/open.tensor"
    printf "def f(float(N) a, float(N) w) -> (b) { b(i) = a(i) * w(i) }\n\
export f(w=\"$number/w.npy\")\nexport f(w=\"$bytes\") as g\n" \
        >"$number.tensor"
    printf "\\223NUMPY\\001\\000\\100\\000{'descr': '$bytes', 'fortran_order': False, 'shape': (3,), } \
$bytes                 \n" \
        >"$number/w.npy"
    printf "instr i(float(4) a, float(4) b) on \"$bytes\" needs \"$bytes\" { a(i) = b(i) } = \"$bytes\"\n$good\n" \
        >"$number/instr.tensor"
    for place in code comment on import open instr; do
        told "$place" 0 -fsyntax-only -Wall "$number/$place.tensor"
    done
    told "compiled" 0 -c -v "$number/on.tensor" -o "$number/on.o"
    told "the instruction" 0 -c "$number/instr.tensor" -o "$number/instr.o"
    told ".npy file" 1 -fsyntax-only "$number.tensor"
    told "input" 1 -run -DN=3 --input="a=$number/w.npy" good.tensor
    told "name of an input" 1 -run -DN=3 --input="$x=$number/w.npy" good.tensor
    told "file that is not there" 1 -c "$number/$x.tensor"
    cp "$number/comment.tensor" "$number/$x.tensor"
    told "file" 1 -fsyntax-only "$number/$x.tensor"
    told "two files" 2 -fsyntax-only "$number/$x.tensor" "$number/comment.tensor"
    told "target" 1 -c --target="$x" good.tensor
    told "feature" 1 -c --target="x86-64+$x" good.tensor
    told "option" 1 "--trails$x" good.tensor
    told "value" 1 "--trials=$x" good.tensor
    told "definition" 1 "-DN$x=3" good.tensor
    told "value of a definition" 1 "-DN=$x" good.tensor
    told "letter" 1 -d "$x" good.tensor
    told "output" 1 -c good.tensor -o "/dev/null/$x.o"
    told "database" 1 -O tune --trials=1 --db="/dev/null/$x.db" -DN=8 -c good.tensor -o "$number/t.o"
    told "command of the database" 0 db "$x"
    told "database to list" 0 db ls --db="/dev/null/$x.db"
    all_told "as text: $(printf '%s' "$bytes" | tr -d '\n')"
done

# What a database holds is from outside, too.
printf '# tuning records of tensorc, format 1\n\n' >records.txt
"$TENSORC" db import --db=hostile.db records.txt >/dev/null
if have sqlite3; then
    sqlite3 hostile.db "INSERT INTO records (task, target, schedule, threads, outcome, seconds, spread,
        repeats, seed) VALUES
        ('t' || char(27) || '[2J', 'x' || char(155) || char(8238), 's', 1, 0, 0.5, 0.1, 3, 1)" 2>/dev/null
fi
capture "$TENSORC" db ls --db=hostile.db
cat "$work/out" >1.out; cp "$work/err" 1.text; echo "[]" >1.json; echo "1 0 0 0 db ls" >list
all_told "db ls shows text"

# A line that a name breaks forges no message.
newline=$(printf 'a\nb.tensor:1:1: error: forged')
capture "$TENSORC" -c "$newline"
is "$(wc -l <"$work/err" | tr -d ' ')" "1" "a name with a line end stays on its line"

# --- JSON is one document, whatever else is asked for
cat >warns.tensor <<'EOF'
def f(float(N) a) -> (b) { b(i) = a(i) }
schedule f on nothing { }
EOF
cp warns.tensor again.tensor
told "nothing to say" 0 -c good.tensor -o good.o
told "three files" 3 -c warns.tensor again.tensor no.tensor
told "-v" 2 -v -c warns.tensor -o warns.o
told "times and dumps" 3 -ftime-report -d pcn -c good.tensor -o good.o
told "tuning" 2 -v -O tune --trials=2 --db=t.db -DN=64 -c good.tensor -o good.o
told "what was tuned" 1 -v -O tune --trials=2 --db=t.db -DN=64 -c good.tensor -o good.o
told "no file" 1 -c
told "--help" 0 --help
told "-run" 0 -run -DN=10 good.tensor
all_told "one array, whatever is reported"
capture "$TENSORC" -fdiagnostics-format=json -fdiagnostics-format=text -c nowhere.tensor
like "$(cat "$work/err")" '^tensorc: error: ' "the last format counts"
capture "$TENSORC" -c -fdiagnostics-format json nowhere.tensor
cp "$work/err" 1.json; : >1.text >1.out; echo "1 1 0 0 two words" >list
all_told "in two words, too"

# Random bytes where text is expected; what is made depends on the number alone.
for seed in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    perl -e 'srand(shift); my @words = ("def f(float(N) a) -> (b) { b(i) = a(i) }\n", "\"",
        "schedule f on ", "export ", "import \"", "#", " { ", "\n", "\x1b[", "\xc2", "\xed\xa0");
        print rand() < 0.5 ? $words[rand @words] : join("", map { chr(rand 256) } 1 .. rand 12) for 1 .. 30' \
            "$seed" >random.tensor
    told "$seed" 0 -fsyntax-only -Wall random.tensor
done
all_told "random bytes"

# What is printed for people goes through lang/terminal.c, but for texts without anything from outside.
is "$(cd "$srcdir" && find lang parser sema lower autosched backends driver -name "*.[cly]" -exec grep -nE \
    'fprintf\(stderr|vfprintf\(|[^_]vprintf\(' {} + |
    grep -v '^lang/terminal.c\|^backends/run/worker.c:.*usage\|^backends/runtime/assemble.c:')" "" \
    "all output goes through one function"

done_testing
