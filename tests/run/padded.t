#!/bin/sh
# padded.t - register tiles that read beyond a tensor's edge where no loop is apart: no branches, no spills.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

cat >padded.tensor <<'END'
def conv(float(H, W, C) I, float(KH, KW, C, M) F) -> (O) {
    O(h, w, m) +=! (I(h + r_kh - 1, w + r_kw - 1, r_c) else 0) * F(r_kh, r_kw, r_c, m) where h in 0:H, w in 0:W
}
export conv(KH=3, KW=3)
schedule conv on x86 {
    ho, h = split(O.h, 14)
    mo, mi, v = split(O.m, 2, 16)
    co, c = split(O.r_c, 8)
    reorder(mo, ho, O.w, O.r_kh, O.r_kw, co, c, h, mi, v)
    vectorize(v)
    unroll(c, h, mi)
    task = fuse(mo, ho)
    parallel(task)
    acc = cache_write(O, at=O.w, scope=register)
}
END
for height in 1 13 14 15 28 29; do
    runs "$height rows" "$TENSORC" -run --threads=2 -DH=$height -DW=3 -DC=16 -DM=33 padded.tensor
done
runs "at -O0" "$TENSORC" -run -O0 --threads=2 -DH=15 -DW=3 -DC=16 -DM=33 padded.tensor

"$TENSORC" -S --target=x86-64-v4 -DH=28 -DW=28 -DC=128 -DM=128 padded.tensor -o padded.s
awk '/^conv\.loop/ { inside = 1 } /^\.Lfunc_end/ { inside = 0 } inside' padded.s >loop.s
like "$(grep -c 'vfmadd.*zmm' loop.s)" '^(224|448)$' "a tile of 28 vectors, 8 steps, at most two copies"
unlike "$(cat loop.s)" 'zmm.*\(%rsp\)|\(%rsp.*zmm' "no vector is spilled"
# Vectors that are wholly inside or wholly outside: loaded without masks.
cat >depthwise.tensor <<'END'
def depthwise(float(H, C) I, float(K, C) F) -> (O) {
    O(h, c) +=! (I(h + r_k - 1, c) else 0) * F(r_k, c) where h in 0:H
}
export depthwise(K=3)
schedule depthwise on x86 {
    ho, h = split(O.h, 14)
    co, v = split(O.c, 16)
    reorder(ho, co, O.r_k, h, v)
    vectorize(v)
    unroll(h)
    parallel(ho)
    acc = cache_write(O, at=co, scope=register)
}
END
for height in 1 14 15 29; do
    runs "vectors of $height rows" "$TENSORC" -run --threads=2 -DH=$height -DC=37 depthwise.tensor
done
"$TENSORC" -S --target=x86-64-v4 -DH=28 -DC=64 depthwise.tensor -o depthwise.s
like "$(cat depthwise.s)" 'vfmadd.*zmm' "vectors are computed"
unlike "$(cat depthwise.s)" '%k[1-7]\}' "no mask for rows"
# Masks of which loads wait are made before the loops, even where there are many copies of them.
cat >rows.tensor <<'END'
def rows(float(C, H, W) I, float(M, C, KH, KW) F) -> (O) {
    O(m, h, w) +=! (I(r_c, h + r_kh - 1, w + r_kw - 1) else 0) * F(m, r_c, r_kh, r_kw) where h in 0:H, w in 0:W
}
export rows(C=5, H=14, W=14, M=256, KH=3, KW=3)
schedule rows on x86 {
    m_o, m_m, m_i = split(O.m, 2, 3)
    h_o, h_i = split(O.h, 7)
    w_o, w_v = split(O.w, 16)
    reorder(m_o, h_o, w_o, m_m, O.r_c, O.r_kh, O.r_kw, h_i, m_i, w_v)
    vectorize(w_v)
    unroll(O.r_kw, h_i, m_i)
    acc = cache_write(O, at=m_m, scope=register)
}
END
runs "rows under masks" "$TENSORC" -run rows.tensor
"$TENSORC" -S --target=x86-64-v4 rows.tensor -o rows.s
awk '/vfmadd/ { inside = 1 } inside' rows.s >inside.s
like "$(cat inside.s)" 'zmm[0-9]+ \{%k[1-7]\}' "loads under masks"
unlike "$(cat inside.s)" 'kmov' "no mask is made after the first of them"
done_testing
