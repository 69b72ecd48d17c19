# shellcheck shell=sh
# chains.sh - chains of stages that read each other beyond their ends, for tests of one way of doing so. Whoever
# includes it sets `outside`, what stands after else, and `position`, what the first stage adds of its own place.

# chain H W Y X: four stages; A is read up to Y rows and X columns away.
chain() {
    cat <<END
def chain(float(H, W) a) -> (d) {
    b(y, x) = (a(y, x - $4) else $outside) + 2 * (a(y, x + $4) else $outside)$position where y in 0:H, x in 0:W
    c(y, x) = (b(y - $3, x) else $outside) + 3 * b(y, x) + 5 * (b(y + $3, x) else $outside) where y in 0:H, x in 0:W
    d(y, x) = (c(y - 1, x - $4) else $outside) - (c(y + $3, x + 1) else $outside) where y in 0:H, x in 0:W
}
export chain(H=$1, W=$2)
END
}

# With the loops of d cut into tiles of so many rows and columns, of which the last ones are not full.
tiled() {
    for family in x86 arm; do
        cat <<END
schedule chain on $family {
    yo, xo, yi, xi = tile(d.y, d.x, $1, $2)
    compute_at(c, xo)
    compute_at(b, $3)
    vectorize(xi)
}
END
    done
}

# all_tiles SIZES REACHES: the values of chains of these sizes and reaches, pairs with commas between them, in tiles.
all_tiles() {
    echo "$1" | tr , '\n' >sizes
    echo "$2" | tr , '\n' >reaches
    while read -r height width; do
        while read -r rows columns; do
            chain "$height" "$width" "$rows" "$columns" >chain.tensor
            for tile in "4 8 xo" "2 16 yo" "5 4 xo"; do
                # shellcheck disable=SC2086 # words
                { cat chain.tensor; tiled $tile; } >tiled.tensor
                runs "$height $width, reach $rows $columns, tiles $tile" "$TENSORC" tiled.tensor -run
            done
        done <reaches
    done <sizes
}
