#!/bin/sh
# folders.t - export f(weights="dir/"): a file of the folder for each const argument that is not bound otherwise.
. "${srcdir:-.}/tests/lib.sh"
cd "$work" || exit 1

cat >make.tensor <<'END'
def filters(int32(O, I) from) -> (float(O, I) w1, float(O) b1, float(P, O) w2, float(P) b2) {
    w1(o, i) = float(from(o, i) % 8) / 2 - 1
    b1(o) = float(from(o, 0) % 5)
    w2(p, o) = float(p - o) / 4 where p in 0:P
    b2(p) = float(p) where p in 0:P
}
export filters(O=8, I=5, P=3)
END
runs "weights are written" "$TENSORC" -run --threads=1 --trials=1 make.tensor --output=w1=w1.npy --output=b1=b1.npy \
    --output=w2=w2.npy --output=b2=b2.npy
mkdir -p trained/deep data/more
mv w1.npy b1.npy w2.npy trained
cp b2.npy trained/deep/b2.npy
cp trained/* data/more 2>/dev/null
mv b2.npy trained

cat >net.tensor <<'END'
import "nn"
def net(float(N, I) x, const float(O, I) w1, const float(O) b1, const float(P, O) w2, const float(P) b2,
        float scale) -> (y) {
    t = dense(x, w1, b1)
    u = dense(relu_rows(t), w2, b2)
    y(n, p) = u(n, p) * scale
}
END
export_of() { { cat net.tensor; echo "export net($1) as f"; } >"$2"; }
export_of 'w1="trained/w1.npy", b1="trained/b1.npy", w2="trained/w2.npy", b2="trained/b2.npy"' named.tensor
export_of 'weights="trained/"' folder.tensor
export_of 'b2="trained/deep/b2.npy", weights="trained/"' mixed.tensor
export_of 'weights="trained/", b2="trained/deep/b2.npy"' later.tensor
export_of "weights=\"$work/trained/\"" absolute.tensor
export_of 'weights="more/", b2="trained/b2.npy"' elsewhere.tensor
export_of 'weights="more/"' incomplete.tensor
export_of 'weights="trained/", N=6' sized.tensor
for file in named folder mixed later absolute; do
    runs "$file" "$TENSORC" -c --threads=1 $file.tensor -o $file.o --header $file.h -MD -MF $file.d
    # The head names the source.
    sed '/made by/d; s/[a-z]*\.tensor//' $file.h >$file.head
done
for file in folder mixed later; do
    same named.o $file.o "$file: the object of files that are named"
done
like "$(cat folder.h)" 'int f\(int64_t N, const float \*x, float scale, float \*y\);' "the arguments are gone"
for name in w1 b1 w2 b2; do
    like "$(cat folder.d)" "trained/$name\\.npy" "the dependencies name $name.npy"
done
like "$(cat mixed.d)" 'trained/deep/b2\.npy' "and a file that is named by itself"
unlike "$(cat mixed.d)" 'trained/b2\.npy' "in place of that of the folder"
runs "a folder of -I" "$TENSORC" -c --threads=1 -Idata elsewhere.tensor -o elsewhere.o
same named.o elsewhere.o "is the same"
for level in -O0 -O2; do
    runs "as interpreted $level" "$TENSORC" -run $level --threads=1 --trials=1 sized.tensor
done
exits 1 "what lacks is an error" "$TENSORC" -c -Idata incomplete.tensor -o incomplete.o
like "$(cat "$work/err")" "error: the folder 'more/' lacks b2\\.npy" "that names it"
rm data/more/w*.npy
exits 1 "as do several" "$TENSORC" -c -Idata incomplete.tensor -o incomplete.o -MD -MF incomplete.d
like "$(cat "$work/err")" "error: the folder 'more/' lacks w1\\.npy, w2\\.npy, b2\\.npy" "in one message"
is "$(ls incomplete.* | tr '\n' ' ')" "incomplete.tensor " "nothing is written then"
mkdir data/more/w1.npy
exits 1 "a folder in place of a file is an error" "$TENSORC" -c -Idata incomplete.tensor -o incomplete.o
like "$(cat "$work/err")" "cannot read 'more/w1\\.npy' as 'w1'" "that names the file"
exits 1 "no output over a file of the folder" "$TENSORC" -c folder.tensor -o trained/w1.npy
like "$(cat "$work/err")" "is the input file" "says so"

done_testing
