#!/bin/sh
# workers.t - tuning with workers that die, hang or cannot start; every search and cost model; what cannot be measured.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

cat >conv.tensor <<'END'
import "nn"
def layer(float(N, C, H, W) I, float(M, C, 3, 3) F, float(M) B) -> (O) {
    t = conv2d[P=1](I, F)
    O(n, m, h, w) = max(t(n, m, h, w) + B(m), 0)
}
export layer(N=1, C=16, H=14, W=14, M=32) as layer
END
db=$work/t.db
tune() { capture "$TENSORC" -O tune --db="$db" "$@"; }

# A worker that dies, hangs, or cannot start: outcomes, and an object all the same.
db=$work/bad.db
worker=$(dirname "$TENSORC")/tensorc-worker
tune --trials=6 --runner="timeout -s KILL 1 $worker" -c conv.tensor -o dying.o
is "$status" 0 "workers that are killed do not end the search" || diag_file err
ok "an object is there" test -s dying.o
tune --trials=3 --runner='exit 7' --db="$work/none2.db" -c conv.tensor -o crashing.o
is "$status" 0 "nor workers that crash at once"
like "$(cat err)" 'crashed' "they are counted"
ok "the default is emitted" test -s crashing.o
tune --budget=3 --trials=3 --runner='exec sleep 1000' --db="$work/none3.db" -c conv.tensor -o hanging.o
is "$status" 0 "nor workers that hang"
ok "the default is emitted then too" test -s hanging.o

# --search and --cost-model: every name of the lists works.
for name in $("$TENSORC" --search=help | awk '{print $1}'); do
    tune --trials=3 --search="$name" --db="$work/search-$name.db" -c conv.tensor -o s.o
    is "$status" 0 "--search=$name" || diag_file err
done
for name in $("$TENSORC" --cost-model=help | awk '{print $1}'); do
    tune --trials=3 --cost-model="$name" --db="$work/model-$name.db" -c conv.tensor -o s.o
    is "$status" 0 "--cost-model=$name" || diag_file err
done

# The object is the same for the same input, database and seed, and what cannot be measured says so.
tune --trials=3 --target=aarch64 -c conv.tensor -o arm.o
is "$status" 0 "a target that does not run here compiles"
like "$(cat err)" 'warning: layer is not tuned for aarch64' "and says that it was not tuned"
cat >symbolic.tensor <<'END'
def scale(float(N) x) -> (y) { y(i) = x(i) * 2 }
END
tune --trials=3 -c symbolic.tensor -o symbolic.o
is "$status" 0 "run-time sizes compile"
like "$(cat err)" 'warning: scale is not tuned' "and say that they were not tuned"
done_testing
