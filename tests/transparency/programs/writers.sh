for i in 1 2 3 4 5 6; do (for j in $(seq 200); do echo "$i $j"; done) >"out.$i" & done
wait
cat out.* | sort -n | sha256sum
